// SPDX-License-Identifier: GPL-2.0-or-later
//! Net clients: the tester's ends of the hubs that the DUT's NICs are on.

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, OnceLock};

use super::api::api;
use super::layout::{NET_CLIENT_DRIVER_USER, NetClientInfo};
use irqlab_tester::refusal::Refusal;

/// Larger than any release's `NetClientState`, in bytes.
const CLIENT_BYTES: usize = 65_536;
/// A hub without NICs, for [`verify`].
const SCRATCH_HUB: c_int = 0x6972_716c;

type ReceiveCallback = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize;

/// A net client; it lives as long as QEMU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NetClient(*mut c_void);

// SAFETY: a handle that is used only while QEMU's global lock is held.
unsafe impl Send for NetClient {}

/// The clients of [`connect`], by port.
static CLIENTS: Mutex<Vec<NetClient>> = Mutex::new(Vec::new());
static RECEIVE: OnceLock<fn(usize, &[u8])> = OnceLock::new();
/// What the clients of [`verify`] received.
static VERIFIED: Mutex<Vec<(NetClient, Vec<u8>)>> = Mutex::new(Vec::new());

/// Creates a client for each port, on the hub of the same number. `receive` is called with the port and each frame (without FCS) that
/// the DUT's NIC sends there.
pub fn connect(ports: usize, receive: fn(usize, &[u8])) -> Vec<NetClient> {
    let _ = RECEIVE.set(receive);
    let clients: Vec<NetClient> = (0..ports)
        .map(|port| NetClient::new(port as c_int, &format!("tester{port}"), frame_received))
        .collect();
    *CLIENTS.lock().unwrap_or_else(|e| e.into_inner()) = clients.clone();
    clients
}

/// Sends a frame between two clients on a hub of their own: it must arrive at the other one as it was sent.
pub fn verify() -> Result<(), String> {
    let frame: Vec<u8> = (0..60).collect();
    let [from, to] = ["irqlab-from", "irqlab-to"]
        .map(|name| NetClient::new(SCRATCH_HUB, name, verification_received));
    let sent = from.send(&frame);
    let received = std::mem::take(&mut *VERIFIED.lock().unwrap_or_else(|e| e.into_inner()));
    if sent && received == [(to, frame)] {
        Ok(())
    } else {
        Err("this QEMU's net clients do not deliver frames as those of the tested releases".into())
    }
}

impl NetClient {
    fn new(hub: c_int, name: &str, receive: ReceiveCallback) -> NetClient {
        let info: &'static NetClientInfo = Box::leak(Box::new(NetClientInfo {
            kind: NET_CLIENT_DRIVER_USER,
            size: CLIENT_BYTES,
            receive,
            rest: [0; 64],
        }));
        let model: &CStr = c"tester";
        let name = CString::new(name).unwrap_or_default();
        let api = api();
        // SAFETY: QEMU copies the strings, and `info` is never freed.
        unsafe {
            let client = (api.qemu_new_net_client)(
                info,
                std::ptr::null_mut(),
                model.as_ptr(),
                name.as_ptr(),
            );
            (api.net_hub_add_port)(hub, std::ptr::null(), client);
            NetClient(client)
        }
    }

    /// Delivers a frame (without FCS) now. False: the NIC cannot take it, and the frame is lost.
    pub fn send(self, frame: &[u8]) -> bool {
        let api = api();
        // SAFETY: the client came from `new`. QEMU would queue a frame that the NIC refuses, so the tester asks first.
        unsafe {
            if (api.qemu_can_send_packet)(self.0) == 0 {
                return false;
            }
            (api.qemu_send_packet)(self.0, frame.as_ptr(), frame.len() as c_int);
        }
        true
    }
}

/// Pulls the cable out of QEMU's NIC at `port`, or puts it in: the client of its hub's port, which the lab calls n0, n1, ...
pub fn plug_cable(port: usize, plugged: bool) -> Result<(), Refusal> {
    let name = CString::new(format!("n{port}")).unwrap_or_default();
    let mut error = std::ptr::null_mut();
    // SAFETY: the global lock is held; QEMU copies what it needs of the string.
    unsafe { (api().qmp_set_link)(name.as_ptr(), plugged, &raw mut error) };
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: QEMU's error, which has a text.
    let text = unsafe { CStr::from_ptr((api().error_get_pretty)(error)) };
    Err(text.to_string_lossy().into_owned().into())
}

unsafe extern "C" fn frame_received(client: *mut c_void, buf: *const u8, len: usize) -> isize {
    let port = {
        let clients = CLIENTS.lock().unwrap_or_else(|e| e.into_inner());
        clients.iter().position(|other| other.0 == client)
    };
    if let (Some(port), Some(receive)) = (port, RECEIVE.get()) {
        // SAFETY: QEMU gives `len` readable bytes.
        receive(port, unsafe { std::slice::from_raw_parts(buf, len) });
    }
    len as isize
}

unsafe extern "C" fn verification_received(
    client: *mut c_void,
    buf: *const u8,
    len: usize,
) -> isize {
    // SAFETY: QEMU gives `len` readable bytes.
    let frame = unsafe { std::slice::from_raw_parts(buf, len) };
    let mut received = VERIFIED.lock().unwrap_or_else(|e| e.into_inner());
    received.push((NetClient(client), frame.to_vec()));
    len as isize
}
