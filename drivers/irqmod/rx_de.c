// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disable-enable (Salah & Qahtan, section 4.1): the handler masks RX, all
 * frames are processed until the ring is empty, then RX is unmasked.
 *
 * The paper processes frames in the interrupt handler. Current kernels do not
 * allow protocol processing in hard IRQ (the stack takes locks with _bh), so
 * the HI softirq does it: the deferred context of the highest priority, which
 * runs before the timer, transmit and receive softirqs.
 *
 * Under overload the ring never becomes empty, which would starve two groups.
 * The first are the lower softirqs, and the tasklets of other queues, whose
 * transmit rings fill while this one forwards to them: after DE_RUN frames the
 * tasklet ends and a timer restarts it immediately. The second are the watchdog,
 * RCU and kernel threads: after a 32nd of a second, the timer waits for an eighth
 * of a tick. User processes only get these, which is what the paper calls
 * starvation. (In a longer pause frames wait longer. At a longer distance a task
 * that missed one pause waits too long for the next.)
 *
 * An instrument, rx_de_without, disables this. long: there is no such pause.
 * pauses: there is none at all, as in the paper. Then a lasting overload ends in the
 * watchdog.
 */
#include <linux/jiffies.h>

#include "de.h"

#define DE_WORK_JIFFIES	(HZ / 32)
#define DE_REST_NS	((u64)TICK_NSEC / 8)
#define DE_PASS		64
#define DE_RUN		64u

enum de_without {
	WITHOUT_NOTHING,
	WITHOUT_LONG,
	WITHOUT_PAUSES,
};

static const char * const de_measures[] = {
	[WITHOUT_NOTHING] = "nothing",
	[WITHOUT_LONG] = "long",
	[WITHOUT_PAUSES] = "pauses",
	NULL
};

static enum de_without de_without(const struct irqmod_de *de)
{
	return irqmod_instrument(de->rx_de_without, WITHOUT_NOTHING);
}

void irqmod_de_schedule(struct irqmod_de *de)
{
	irqmod_rx_mask(de->queue);
	/* Otherwise it is a TX cause, which does not put off the pause. */
	if (!READ_ONCE(de->busy)) {
		WRITE_ONCE(de->busy, true);
		WRITE_ONCE(de->rest_at, jiffies + de->work_jiffies);
	}
	tasklet_hi_schedule(&de->tasklet);
}

static enum hrtimer_restart de_rested(struct hrtimer *timer)
{
	struct irqmod_de *de = container_of(timer, struct irqmod_de, rest_timer);

	WRITE_ONCE(de->rests, false);
	tasklet_hi_schedule(&de->tasklet);
	return HRTIMER_NORESTART;
}

/* A pause of @ns; once work_jiffies are over, of DE_REST_NS at least. RX stays masked. */
void irqmod_de_pause(struct irqmod_de *de, u64 ns)
{
	if (time_after(jiffies, READ_ONCE(de->rest_at)) &&
	    de_without(de) != WITHOUT_LONG) {
		ns = max(ns, DE_REST_NS);
		WRITE_ONCE(de->rest_at, jiffies + de->work_jiffies);
	}
	WRITE_ONCE(de->rests, true);
	hrtimer_start(&de->rest_timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED);
}

/* The ring is empty. False: it is not; RX is still masked. */
bool irqmod_de_end(struct irqmod_de *de)
{
	struct irqmod_queue *queue = de->queue;

	queue->ops->rx_ack(queue);
	if (queue->ops->rx_pending(queue))
		return false;
	WRITE_ONCE(de->busy, false);
	irqmod_rx_unmask(queue);
	return true;
}

/* One pass of a run; de->frames is 0 before the first one. True: the run goes
 * on. False: it has ended, in a pause or with RX unmasked.
 */
bool irqmod_de_pass(struct irqmod_de *de)
{
	struct irqmod_queue *queue = de->queue;
	int taken = irqmod_rx_pass(queue, DE_PASS);

	irqmod_tx_rx_reclaim(queue);
	if (taken) {
		de->frames += taken;
		if (de->frames < min(queue->rx_ring, DE_RUN) ||
		    de_without(de) == WITHOUT_PAUSES)
			return true;
		irqmod_de_pause(de, IRQMOD_DE_BREATH_NS);
		return false;
	}
	return !irqmod_de_end(de);
}

/* Whether the tasklet runs in a pause: the transmit ring was full, and a packet has
 * left.
 */
bool irqmod_de_rests(struct irqmod_de *de)
{
	if (likely(!READ_ONCE(de->rests)))
		return false;
	irqmod_tx_rx_reclaim(de->queue);
	return true;
}

/* Before the first start; @work is the tasklet's function. */
void irqmod_de_init(struct irqmod_de *de, struct irqmod_queue *queue,
		    void (*work)(struct tasklet_struct *tasklet))
{
	de->queue = queue;
	de->work_jiffies = DE_WORK_JIFFIES;
	tasklet_setup(&de->tasklet, work);
	hrtimer_setup(&de->rest_timer, de_rested, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
}

void irqmod_de_start(struct irqmod_de *de)
{
	struct irqmod_queue *queue = de->queue;

	de->busy = false;
	de->rests = false;
	queue->deliver = irqmod_deliver_stack;
	queue->rx_deferred = false;
	queue->rx_in_softirq = true;
	/* A run for a completion alone costs as much as one for a frame: frames take
	 * it with them.
	 */
	irqmod_moderate(queue, 0, UINT_MAX);
}

void irqmod_de_stop(struct irqmod_de *de)
{
	/* The tasklet starts the timer and the timer the tasklet; with
	 * rx_stopping set the tasklet does neither.
	 */
	tasklet_kill(&de->tasklet);
	hrtimer_cancel(&de->rest_timer);
	tasklet_kill(&de->tasklet);
	irqmod_moderate(de->queue, 0, 0);
}

static void rx_de_work(struct tasklet_struct *tasklet)
{
	struct irqmod_de *de = from_tasklet(de, tasklet, tasklet);

	if (irqmod_de_rests(de))
		return;
	de->frames = 0;
	while (!READ_ONCE(de->queue->rx_stopping) && irqmod_de_pass(de))
		;
}

static void rx_de_init(struct irqmod_queue *queue, void *state)
{
	irqmod_de_init(state, queue, rx_de_work);
}

static bool rx_de_start(struct irqmod_queue *queue)
{
	irqmod_de_start(queue->rx_state);
	return false;
}

static void rx_de_stop(struct irqmod_queue *queue)
{
	irqmod_de_stop(queue->rx_state);
}

static void rx_de_irq(struct irqmod_queue *queue)
{
	irqmod_de_schedule(queue->rx_state);
}

static const struct irqmod_setting de_settings[] __maybe_unused = {
	{ IRQMOD_SETTING(irqmod_de, rx_de_without), .names = de_measures, .restart = true },
	{ }
};

IRQMOD_RX_SCHEME(de) = {
	.base = {
		.name = "de",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_de),
		.settings = irqmod_instrument(de_settings, NULL),
		.init = rx_de_init,
	},
	.masks = true,
	.pauses = true,
	.tasklet = true,
	.start = rx_de_start,
	.stop = rx_de_stop,
	.irq = rx_de_irq,
};
