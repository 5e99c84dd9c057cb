// SPDX-License-Identifier: GPL-2.0-or-later
//! What to do if the kernel refuses a port.

/// The command that permits this binary to open ports, or root.
pub fn mend() -> String {
    let binary = std::env::current_exe().unwrap_or_else(|_| "irqlab-live".into());
    format!(
        "run `sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep {}`, or run as root",
        binary.display()
    )
}
