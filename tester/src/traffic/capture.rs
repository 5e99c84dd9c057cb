// SPDX-License-Identifier: GPL-2.0-or-later
//! Captures to pcapng files, with timestamps in virtual ns.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

/// Which way a frame went, as the tester sees it; the values are those of epb_flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Transmitted by the device under test.
    Inbound = 1,
    /// Delivered to the device under test.
    Outbound = 2,
}

/// An open capture.
pub struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
    path: String,
    failure: Option<String>,
}

impl Capture {
    /// Opens a capture of `ports` ports, named port0, port1, …
    pub fn create(path: &str, ports: usize) -> Result<Self, String> {
        let describe = |error: PcapError| format!("cannot capture to {path}: {error}");
        let file =
            File::create(path).map_err(|error| format!("cannot capture to {path}: {error}"))?;
        let mut writer =
            PcapNgWriter::new(BufWriter::with_capacity(1 << 18, file)).map_err(describe)?;
        for port in 0..ports {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(format!("port{port}"))),
                    InterfaceDescriptionOption::IfTsResol(9),
                    InterfaceDescriptionOption::IfFcsLen(0),
                ],
            };
            writer.write_pcapng_block(interface).map_err(describe)?;
        }
        Ok(Capture {
            writer,
            path: path.into(),
            failure: None,
        })
    }

    /// Adds a frame (without FCS). A failure ends the capture and is returned by [`Capture::flush`].
    pub fn frame(&mut self, port: usize, now_ns: u64, direction: Direction, frame: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let block = EnhancedPacketBlock {
            interface_id: port as u32,
            timestamp: Duration::from_nanos(now_ns),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![EnhancedPacketOption::Flags(direction as u32)],
        };
        if let Err(error) = self.writer.write_pcapng_block(block) {
            self.failure = Some(error.to_string());
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> Result<(), String> {
        if let Err(error) = self.writer.get_mut().flush() {
            self.failure.get_or_insert(error.to_string());
        }
        match &self.failure {
            Some(failure) => Err(format!("the capture to {} broke off: {failure}", self.path)),
            None => Ok(()),
        }
    }
}
