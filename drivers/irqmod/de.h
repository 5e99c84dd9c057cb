/* SPDX-License-Identifier: GPL-2.0-only */
/* Disable-enable as a part of schemes (rx_de.c). */
#ifndef IRQMOD_DE_H
#define IRQMOD_DE_H

#include "scheme.h"

#define IRQMOD_DE_BREATH_NS	1000	/* for lower softirqs */

struct irqmod_de {
	struct irqmod_queue *queue;
	struct tasklet_struct tasklet;
	struct hrtimer rest_timer;	/* end of a pause */
	unsigned long rest_at;		/* next long pause, in jiffies; no lock */
	unsigned long work_jiffies;	/* between two of them */
	unsigned int frames;		/* taken in this run */
	bool busy;			/* RX is masked: from @irq to the end */
	bool rests;			/* the timer goes on with the work */
	u32 rx_de_without;		/* enum de_without; an instrument */
};

void irqmod_de_init(struct irqmod_de *de, struct irqmod_queue *queue,
		    void (*work)(struct tasklet_struct *tasklet));
void irqmod_de_start(struct irqmod_de *de);
void irqmod_de_stop(struct irqmod_de *de);
void irqmod_de_schedule(struct irqmod_de *de);
void irqmod_de_pause(struct irqmod_de *de, u64 ns);
bool irqmod_de_pass(struct irqmod_de *de);
bool irqmod_de_end(struct irqmod_de *de);
bool irqmod_de_rests(struct irqmod_de *de);

#endif /* IRQMOD_DE_H */
