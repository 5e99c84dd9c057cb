/* SPDX-License-Identifier: GPL-2.0-only */
/* NAPI as a part of schemes (rx_napi.c). */
#ifndef IRQMOD_NAPI_H
#define IRQMOD_NAPI_H

#include "scheme.h"

void irqmod_napi_start(struct irqmod_queue *queue);
void irqmod_napi_schedule(struct irqmod_queue *queue);
int irqmod_napi_pass(struct irqmod_queue *queue, int budget);
int irqmod_napi_completions(struct irqmod_queue *queue);
int irqmod_napi_end(struct irqmod_queue *queue, int done, int budget);

#endif /* IRQMOD_NAPI_H */
