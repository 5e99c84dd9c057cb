# SPDX-License-Identifier: GPL-2.0-or-later
# Commands of GDB for a session of `irqlab debug`.

define when
  monitor when
end
document when
Show the instant: ns after the start of the trial's window, and instructions executed since power-on.
end

define goto
  monitor goto $arg0
  maintenance flush register-cache
  maintenance flush dcache
  frame
end
document goto
Go to an instant of the trial, forwards or backwards: goto NS, in ns after the start of its window.
end

define last-write
  watch -location $arg0
  reverse-continue
  delete $bpnum
end
document last-write
Go back to the last instruction that changed a variable: last-write EXPRESSION (without spaces).
end
