# SPDX-License-Identifier: GPL-2.0-or-later
"""Assigns functions to owners, i.e. subsystems, by tables of names. Unknown functions are `other`.

The name decides, not the caller: a lock taken by the IP stack is `primitives`, an skb freed by the driver is `allocator`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from irqlab.profile.symbols import USER

DRIVER = "driver"
ENGINE = "engine"
OTHER = "other"

OF_MODULES = (
    ("qdisc", r"sch_\w+|cls_\w+"),
    ("IP stack", r"nf\w*|nft\w*|ip_tables|ip6?table_\w+|x_tables|xt_\w+"),
)
"""Owner -> modules, besides the driver under test (`driver`, with the modules it needs) and `irqmod` (`engine`)."""

OF_FUNCTIONS = (
    (
        "allocator",  # mm/page_alloc.c, mm/slub.c, net/core/skbuff.c: getting and giving back
        r"_*(kmem_cache|kmalloc|kfree|kvfree|slab|slub|alloc_pages|free_pages|free_unref_page|free_frozen|free_one_page|page_frag)\w*"
        r"|_*(free_pcp|rmqueue|alloc_frozen|clear_page|clear_highpages|pfn_to_online_page|nr_to_section|kernel_init_pages|prep_new_page|post_alloc_hook|put_page|folio_put|get_page_from)\w*"
        r"|_*(alloc_skb|build_skb|netdev_alloc|napi_alloc|napi_build_skb|napi_consume_skb|napi_skb_cache|napi_skb_free)\w*"
        r"|_*(consume_skb|kfree_skb|dev_kfree_skb|skb_release|skb_free_head|skb_attempt_defer|skb_page_frag|skb_recycle)\w*"
        r"|_*(zone_watermark|is_vmalloc_addr|should_fail_alloc|should_failslab|page_pool|free_large|get_partial|put_cpu_partial)\w*"
        r"|_*(cache_from_obj|cmpxchg_double_slab|unfreeze_partials|allocate_slab|new_slab|discard_slab|shuffle_freelist|setup_object)\w*"
        r"|_*(free_tail_page|prep_compound|cond_accept_memory|free_pages|get_any_partial|deactivate_slab|memcg_slab|free_to_partial)\w*"
        r"|_*(get_pfnblock|set_pfnblock|mod_zone_page|mod_node_page|obj_cgroup|memcg_\w*hook|___cache_free|check_heap)\w*",
    ),
    (
        "copy",  # arch/x86/lib, lib/checksum.c: touching the data
        r"_*(memcpy|memmove|memset|memcmp|rep_movs|rep_stos|copy_(to|from|user|page|mc)|csum|skb_copy|skb_checksum)\w*|ip_fast_csum|ip_compute_csum",
    ),
    (
        "random numbers",  # drivers/char/random.c, lib/crypto; an early kernel reseeds at every turn
        r"_*(blake2s|chacha|extract_entropy|crng|get_random|mix_pool|credit_init|rdrand|rdseed|random|prandom|siphash)\w*",
    ),
    (
        "qdisc",  # net/sched, lib/dynamic_queue_limits.c
        r"_*(qdisc|fq_codel|fq|codel|pfifo|pfifo_fast|noqueue|noop|mq|sch_direct|netif_schedule|dql)_?\w*|dev_(qdisc|requeue)\w*"
        r"|tc_\w+|tcf_\w+|dequeue_skb|try_bulk_dequeue\w*",
    ),
    (
        "interrupts",  # arch/x86/entry, kernel/irq, kernel/softirq.c, drivers/char/random.c: what every interrupt feeds
        r"irq_entries_start|asm_(common|spurious)_interrupt|_*common_interrupt\w*|error_(entry|return)|paranoid_\w+|spurious_\w+"
        r"|raw_irqentry_\w+|restore_regs_and_return_to_\w+|native_(irq_return_)?iret|early_xen_iret_patch|sync_regs|call_on_irqstack"
        r"|_*(irq|irqd|irqentry|handle_irq|handle_\w+_irq|handle_bad|ioapic|io_apic|apic|native_apic|native_eoi|x2apic|lapic_get|msi|pci_msi)_?\w*"
        r"|_*(note_interrupt|add_interrupt_randomness|fast_mix|mix_interrupt|try_one_irq|synchronize_\w*irq|enable_irq|disable_irq)\w*"
        r"|_*(do_softirq|handle_softirqs|raise_softirq|local_bh|tasklet|run_ksoftirqd|ksoftirqd|invoke_softirq|rcu_softirq_qs)\w*"
        r"|_*(ct_(nmi|irq|kernel|idle|user)|exit_to_user_mode|syscall|do_syscall|entry_SYSCALL|native_tss_update)\w*"
        r"|_*(mask|unmask)_(irq|ioapic\w*|lapic\w*)|ack_\w+|eoi_\w+|(asm_|_*)sysvec_irq_work|arch_irq_work\w*|_*default_send_IPI\w*",
    ),
    (
        "scheduler, timers",  # kernel/sched, kernel/time, arch/x86/kernel/apic and tsc.c
        r"_*(schedule|scheduler|sched|switch_to|finish_task|pick_\w*task|context_switch|wake_up|wake_q|try_to_wake|ttwu|wakeup|preempt|cond_resched)_?\w*"
        r"|\w+_(fair|entity|cfs_rq|cfs_group|task_switch|task_fair|rt_rq|dl_rq)(\.\w+)*|_*update_(rq|curr|load|min_vruntime|cfs|blocked)\w*"
        r"|_*(hrtimer|hrtimers|timer|timers|timerqueue|tick|ktime|timekeeping|clockevents|clocksource|run_timer|run_posix|run_local)_?\w*"
        r"|_*(run_hrtimer|next_base|mod_timer|add_timer|del_timer|lock_timer|enqueue_timer|enqueue_hrtimer|remove_hrtimer|call_timer|calc_wheel)_?\w*"
        r"|_*(run_timers|next_timer|detach_if|expire_timers|get_nohz|get_next_timer|process_timeout|collect_expired)_?\w*"
        r"|(asm_|_*)sysvec_apic_timer_interrupt|_*(local_apic_timer|lapic_next|lapic_timer|read_tsc|read_hpet|native_sched_clock|tsc)_?\w*"
        r"|_*(psi|account|cpuacct|acct|kthread|smpboot|calc_(global_)?load|update_deadline|avg_vruntime|tmigr|dl_server|perf_adjust|notifier_call|perf_event_task|profile_tick|irqtime|vtime|cputime|jiffies)_?\w*"
        r"|_*(rcu_sched_clock|rcu_note_context|update_vsyscall|update_wall|update_fast|update_process|update_rq|do_timer|xtime|ntp|second_overflow)_?\w*"
        r"|rb_\w+|_*(resched|check_preempt|place_entity|set_next|put_prev|enqueue_task|dequeue_task|activate_task|deactivate_task|trigger_load)_?\w*"
        r"|_*(do_idle|cpu_idle|cpuidle|default_idle|native_safe_halt|pv_native_safe_halt|cpu_startup|raw_notifier|arch_cpu_idle|nohz|usecs_to_jiffies)_?\w*"
        r"|_*(update_se|reweight_eevdf|vruntime_eligible|pick_eevdf|entity_lag|migrate_disable_switch|hrtick|scx_tick|start_dl_timer)_?\w*"
        r"|arch_scale_(freq_tick|cpu_capacity)|propagate_entity_load_avg|try_to_del_timer\w*|idle_cpu|queue_work\w*|insert_work|process_one_work|worker_thread|delayed_work\w*",
    ),
    # kernel/dma, arch/x86/mm/mem_encrypt.c, arch/x86/coco
    ("DMA mapping", r"_*(dma|swiotlb|iommu|is_swiotlb|phys_to_dma|dma_direct|force_dma_unencrypted|(amd_)?cc_platform_has)_?\w*"),
    (
        "primitives",  # kernel/locking, kernel/rcu, lib/list_debug.c, lib/iomap.c
        r"_*(raw_spin|raw_read|raw_write|native_queued|queued_spin|queued_read|queued_write|mutex|down_|up_|rcu|srcu|call_rcu|list|hlist|llist|bit|find_\w*bit|refcount)\w*"
        r"|_*(rcu_read_(un)?lock|x86_indirect\w*|x86_return\w*|static_call\w*|ref_tracker|percpu_counter|local_lock|ioread|iowrite)\w*|_*SC[TK]_\w+",
    ),
    (
        "IP stack",  # net/core, net/ipv4, net/ethernet; map_id_range_down and make_kuid: of the route's key
        r"_*(ip|ip4|ipv4|ip6|ipv6|inet|inetdev|inet6|udp|udp4|udpv4|tcp|tcp4|icmp|fib|fib4|arp|neigh|rt|rtable|dst|xfrm|nf|eth|vlan|mac)_\w+"
        r"|_*(netif|napi|dev|netdev|net|skb|gro|sock|sk|validate_xmit|harmonize|get_rps|rps|enqueue_to_backlog|process_backlog|flush_backlog)_?\w*"
        r"|\w+_gro_(receive|complete)\w*|loopback_xmit|deliver_skb|find_exception|map_id_range_down|make_kuid|packet_rcv\w*|skbuff_\w+|sit_\w+",
    ),
    ("user space", re.escape(USER)),
)
"""Owner -> its functions' names, whole, without a compiler's suffix (`.constprop.0`, `.cold`); the first that matches has it."""

_FUNCTIONS = tuple((owner, re.compile(names)) for owner, names in OF_FUNCTIONS)
_MODULES = tuple((owner, re.compile(names)) for owner, names in OF_MODULES)
_SUFFIX = re.compile(r"\.(constprop|isra|part|cold|lto_priv)\b.*$")

OWNERS = tuple(dict.fromkeys([DRIVER, ENGINE, *(o for o, _ in OF_MODULES), *(o for o, _ in OF_FUNCTIONS), OTHER]))
"""All owners."""


def bare_name(function: str) -> str:
    """A function's name without the compiler's suffix."""
    return _SUFFIX.sub("", function)


@cache
def _of_function(name: str) -> str:
    bare = bare_name(name)
    return next((owner for owner, names in _FUNCTIONS if names.fullmatch(bare)), OTHER)


def owner(name: str, module: str | None, driver: Collection[str] = ()) -> str:
    """The owner of a function. `driver`: the names of the driver's module and of those it needs."""
    if module is None:
        return _of_function(name)
    module = module.replace("-", "_")
    if module == "irqmod":
        return ENGINE
    if module in {one.replace("-", "_") for one in driver}:
        return DRIVER
    return next((owner for owner, names in _MODULES if names.fullmatch(module)), OTHER)
