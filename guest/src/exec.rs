// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs programs, in the foreground or in the background.

use crate::commands::Ended;
use crate::files::text;
use crate::port;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Bytes of a stream that are kept.
pub const MAX_OUTPUT: usize = 8 << 20;

/// The agent's background processes.
pub struct Processes {
    scratch: PathBuf,
    running: BTreeMap<u32, Background>,
}

struct Background {
    child: Child,
    out: File,
    err: File,
}

impl Processes {
    /// No processes; their output will be kept in unnamed files in `scratch`.
    pub fn new(scratch: &Path) -> Self {
        Self {
            scratch: scratch.into(),
            running: BTreeMap::new(),
        }
    }

    /// Runs a program and waits for its end. Children that outlive it lose their standard output and error; use
    /// [`Self::spawn`] for background programs.
    pub fn exec(&self, argv: &[String], stdin: Option<&str>) -> Result<Ended, String> {
        let mut command = command(argv)?;
        let name = &argv[0];
        let trouble = |error: io::Error| format!("exec {name}: {error}");
        if let Some(text) = stdin {
            // Unlike a pipe, a file does not block when full.
            let mut file = self.scratch_file().map_err(trouble)?;
            file.write_all(text.as_bytes())
                .and_then(|()| file.rewind())
                .map_err(trouble)?;
            command.stdin(file);
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(trouble)?;
        match collect(&mut child) {
            Ok((status, out, err)) => Ok(ended(status, out, err)),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(trouble(error))
            }
        }
    }

    /// Starts a program in the background, without input. Its output goes to files that [`Self::reap`] reads, so it never
    /// blocks.
    pub fn spawn(&mut self, argv: &[String]) -> Result<u32, String> {
        let mut command = command(argv)?;
        let mut start = || -> io::Result<Background> {
            let (out, err) = (self.scratch_file()?, self.scratch_file()?);
            let child = command
                .stdout(out.try_clone()?)
                .stderr(err.try_clone()?)
                .spawn()?;
            Ok(Background { child, out, err })
        };
        let background = start().map_err(|error| format!("spawn {}: {error}", argv[0]))?;
        let pid = background.child.id();
        self.running.insert(pid, background);
        Ok(pid)
    }

    /// Sends a background program a signal, if one is given, waits for its end, and collects its output.
    pub fn reap(&mut self, pid: u32, signal: Option<i32>) -> Result<Ended, String> {
        let Some(background) = self.running.get_mut(&pid) else {
            return Err(format!(
                "reap {pid}: not a process that was started and not yet reaped"
            ));
        };
        let trouble = |error: io::Error| format!("reap {pid}: {error}");
        if let Some(number) = signal {
            let signal = Signal::try_from(number)
                .map_err(|_| format!("reap {pid}: there is no signal {number}"))?;
            kill(Pid::from_raw(pid as i32), signal).map_err(|error| trouble(error.into()))?;
        }
        let status = background.child.wait().map_err(trouble)?;
        let Some(Background { out, err, .. }) = self.running.remove(&pid) else {
            return Err(format!("reap {pid}: lost"));
        };
        let mut texts = [Captured::default(), Captured::default()];
        for (text, mut file) in texts.iter_mut().zip([out, err]) {
            file.rewind().map_err(trouble)?;
            while text.read(&mut file).map_err(trouble)? > 0 {}
        }
        let [out, err] = texts;
        Ok(ended(status, out, err))
    }

    /// A new unnamed file. In append mode, because programs share it with their children.
    fn scratch_file(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .custom_flags(libc::O_TMPFILE)
            .mode(0o600)
            .open(&self.scratch)
    }
}

/// A command with empty standard input and without access to the command port.
fn command(argv: &[String]) -> Result<Command, String> {
    let [name, arguments @ ..] = argv else {
        return Err("an empty argv".into());
    };
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null());
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            port::renounce();
            Ok(())
        });
    }
    Ok(command)
}

fn ended(status: ExitStatus, out: Captured, err: Captured) -> Ended {
    // The process has either exited or been killed.
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ended {
        code,
        out: out.text(),
        err: err.text(),
    }
}

/// Reads both streams until the process has ended.
fn collect(child: &mut Child) -> io::Result<(ExitStatus, Captured, Captured)> {
    let exit = open_pidfd(child)?;
    let mut out = Stream::new(child.stdout.take().map(OwnedFd::from))?;
    let mut err = Stream::new(child.stderr.take().map(OwnedFd::from))?;
    loop {
        let ready = {
            let mut waiting = vec![PollFd::new(exit.as_fd(), PollFlags::POLLIN)];
            let pipes = [&out, &err]
                .into_iter()
                .filter_map(|stream| stream.pipe.as_ref());
            waiting.extend(pipes.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
            match poll(&mut waiting, PollTimeout::NONE) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            waiting[0].any().unwrap_or(false)
        };
        // Once the process has ended, its output is in the pipes. Do not wait for others that still hold them.
        out.take(ready)?;
        err.take(ready)?;
        if ready {
            return Ok((child.wait()?, out.captured, err.captured));
        }
    }
}

/// A file descriptor that becomes readable when the child ends.
fn open_pidfd(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: creates a new file descriptor, or fails. The child has not been waited for, so its id is valid.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    match i32::try_from(number) {
        // SAFETY: the kernel has just created it, and nothing else owns it.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The read end of a pipe, until end of file, and the data read from it.
struct Stream {
    pipe: Option<File>,
    captured: Captured,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.map(File::from);
        if let Some(pipe) = &pipe {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            pipe,
            captured: Captured::default(),
        })
    }

    /// Reads once; the last time, reads up to the capacity of the pipe.
    fn take(&mut self, last: bool) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        let full = if last {
            usize::try_from(fcntl(&*pipe, FcntlArg::F_GETPIPE_SZ)?).unwrap_or(0)
        } else {
            1
        };
        let mut taken = 0;
        while taken < full {
            match self.captured.read(pipe) {
                Ok(0) => {
                    self.pipe = None;
                    break;
                }
                Ok(length) => taken += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The output of a stream: its first [`MAX_OUTPUT`] bytes, and the number of further bytes.
#[derive(Default)]
struct Captured {
    kept: Vec<u8>,
    more: u64,
}

impl Captured {
    /// Reads once.
    fn read(&mut self, source: &mut File) -> io::Result<usize> {
        let mut buffer = [0; 16 << 10];
        loop {
            match source.read(&mut buffer) {
                Ok(length) => {
                    let keep = length.min(MAX_OUTPUT - self.kept.len());
                    self.kept.extend_from_slice(&buffer[..keep]);
                    self.more += (length - keep) as u64;
                    return Ok(length);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn text(self) -> String {
        let mut text = text(self.kept);
        if self.more > 0 {
            text.push_str(&format!(
                "\n[irqlab-guest: {} more bytes were written and are not shown]\n",
                self.more
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn processes() -> Processes {
        Processes::new(&std::env::temp_dir())
    }

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(String::from).to_vec()
    }

    fn exec(script: &str, stdin: Option<&str>) -> Ended {
        processes().exec(&shell(script), stdin).unwrap()
    }

    #[test]
    fn tells_code_and_streams_apart() {
        let expected = Ended {
            code: 7,
            out: "out\n".into(),
            err: "err\n".into(),
        };
        assert_eq!(exec("echo out; echo err >&2; exit 7", None), expected);
    }

    #[test]
    fn a_signal_is_128_and_its_number() {
        assert_eq!(exec("kill -TERM $$", None).code, 143);
    }

    #[test]
    fn standard_input_is_the_given_text_or_empty() {
        let long = "line\n".repeat(100_000);
        assert_eq!(exec("cat", Some(&long)).out, long);
        assert_eq!(exec("cat", None).out, "");
    }

    #[test]
    fn streams_can_be_opened_by_name() {
        let ended = exec("echo one >/dev/stderr; echo two >/dev/stderr", None);
        assert_eq!(ended.err, "one\ntwo\n");
    }

    #[test]
    fn long_output_on_both_streams_does_not_deadlock_and_is_truncated_with_a_note() {
        let ended = exec(
            "head -c 9000000 /dev/zero >&2; head -c 9000000 /dev/zero",
            None,
        );
        let note = "\n[irqlab-guest: 611392 more bytes were written and are not shown]\n";
        for text in [&ended.out, &ended.err] {
            assert_eq!(text.len(), MAX_OUTPUT + note.len());
            assert!(text.ends_with(note));
        }
    }

    #[test]
    fn background_children_are_not_waited_for() {
        let before = Instant::now();
        let ended = exec("sleep 5 & echo done", None);
        assert_eq!(ended.out, "done\n");
        assert!(before.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn a_program_that_closes_its_streams_is_waited_for() {
        assert_eq!(exec("exec >&- 2>&-; sleep 0.1; exit 4", None).code, 4);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let mut processes = processes();
        let argv = ["/nonesuch/program".to_string()];
        for error in [
            processes.exec(&argv, None).unwrap_err(),
            processes.spawn(&argv).unwrap_err(),
        ] {
            assert!(
                error.contains("/nonesuch/program: No such file or directory"),
                "{error}"
            );
        }
    }

    #[test]
    fn spawned_processes_are_reaped_with_their_output() {
        let mut processes = processes();
        let script = "echo ready; trap 'echo bye >&2; exit 5' TERM; while :; do sleep 0.01; done";
        let one = processes.spawn(&shell(script)).unwrap();
        let two = processes.spawn(&shell("cat; echo $$")).unwrap();
        let ended = processes.reap(two, None).unwrap();
        assert_eq!((ended.code, ended.out), (0, format!("{two}\n")));
        std::thread::sleep(Duration::from_millis(200));
        let ended = processes.reap(one, Some(libc::SIGTERM)).unwrap();
        assert_eq!(
            ended,
            Ended {
                code: 5,
                out: "ready\n".into(),
                err: "bye\n".into()
            }
        );
        assert!(processes.reap(one, None).is_err());
    }

    #[test]
    fn long_output_does_not_block_a_spawned_process() {
        let mut processes = processes();
        let pid = processes
            .spawn(&shell("head -c 9000000 /dev/zero; echo end >&2"))
            .unwrap();
        let ended = processes.reap(pid, None).unwrap();
        assert!(
            ended
                .out
                .ends_with("[irqlab-guest: 611392 more bytes were written and are not shown]\n")
        );
        assert_eq!(ended.err, "end\n");
    }

    #[test]
    fn a_wrong_signal_leaves_the_process_alone() {
        let mut processes = processes();
        let pid = processes.spawn(&shell("sleep 60")).unwrap();
        assert!(
            processes
                .reap(pid, Some(1000))
                .unwrap_err()
                .contains("no signal 1000")
        );
        assert_eq!(processes.reap(pid, Some(libc::SIGKILL)).unwrap().code, 137);
    }
}
