// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for the heads of received sk_buffs: a few chunks of pages, used in
 * turn, from which heads are allocated. When it is a chunk's turn again and all
 * its heads have been freed, the chunk is reused. Otherwise it is released to
 * the holders of its heads and replaced.
 *
 * The kernel's page fragments (napi_alloc_frag) do this with a single chunk. A
 * router's transmit ring always holds some of its heads, so they allocate a new
 * chunk every time, and the kernel clears it (init_on_alloc).
 *
 * A head that waits on a socket keeps its whole chunk, while the socket is charged
 * for the frame alone. Therefore chunks are half as large as the kernel's.
 */
#include <linux/module.h>

#include "scheme.h"

#define HEADS_ORDER	get_order(IRQMOD_CHUNK_BYTES)
#define HEADS_BIAS	USHRT_MAX	/* exceeds the heads per chunk */

IRQMOD_PARAMETER(fail_heads, uint, 0644,
		 "For tests: fail every n-th allocation of memory for received frames (default 0: never)");

IRQMOD_PARAMETER(slab_heads, bool, 0644,
		 "For comparison: the head of each frame comes from the slab allocator; takes effect when the interface comes up (default N)");

void irqmod_heads_chosen(struct irqmod_heads *heads)
{
	heads->slab = irqmod_instrument(READ_ONCE(slab_heads), false);
}

/* Falls back to a single page if memory is short. */
static struct page *heads_page(void)
{
	struct page *page;

	page = alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY | __GFP_NOMEMALLOC, HEADS_ORDER);
	return page ?: alloc_page(GFP_ATOMIC | __GFP_NOWARN);
}

/* True if all heads have been freed, so that only our references remain, and
 * if the page is worth keeping: on this node and not from the emergency reserve.
 */
static bool heads_idle(const struct irqmod_chunk *chunk)
{
	return page_ref_count(chunk->page) == chunk->bias &&
	       dev_page_is_reusable(chunk->page);
}

static void heads_drop(struct irqmod_chunk *chunk)
{
	if (chunk->page)
		__page_frag_cache_drain(chunk->page, chunk->bias);
	chunk->page = NULL;
}

/**
 * irqmod_heads_next() - advances to the next chunk
 * @heads: the chunks of a queue
 *
 * Called by irqmod_head_alloc().
 *
 * Context: the one that takes frames.
 * Return: false if there is no memory.
 */
bool irqmod_heads_next(struct irqmod_heads *heads)
{
	unsigned int fail = irqmod_instrument(READ_ONCE(fail_heads), 0);
	struct irqmod_chunk *chunk;

	if (unlikely(fail && ++heads->asked % fail == 0))
		return false;
	heads->left = 0;
	if (++heads->turn == heads->chunks)
		heads->turn = 0;
	chunk = &heads->chunk[heads->turn];
	if (chunk->page && !heads_idle(chunk))
		heads_drop(chunk);
	if (!chunk->page) {
		chunk->page = heads_page();
		if (unlikely(!chunk->page))
			return false;
		chunk->bias = 1;
	}
	/* Take all references at once; each head consumes one. */
	page_ref_add(chunk->page, HEADS_BIAS - chunk->bias);
	chunk->bias = HEADS_BIAS;
	heads->start = page_address(chunk->page);
	heads->left = page_size(chunk->page);
	return true;
}
EXPORT_SYMBOL_GPL(irqmod_heads_next);

/* Called when no context takes frames any more. */
void irqmod_heads_free(struct irqmod_heads *heads)
{
	unsigned int i;

	heads->left = 0;
	for (i = 0; i < heads->chunks; i++)
		heads_drop(&heads->chunk[i]);
}
