//! Clocks, power and throttling from NVML, where the driver brings it.

use super::context::Context;
use super::devices;
use crate::backend::Telemetry;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::{Device, Nvml};
use std::sync::OnceLock;

/// Reasons that hold the clocks down for power or heat (and not because nobody asks for more).
const HELD_DOWN: ThrottleReasons = ThrottleReasons::SW_POWER_CAP
    .union(ThrottleReasons::HW_SLOWDOWN)
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

fn nvml() -> Option<&'static Nvml> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    NVML.get_or_init(|| Nvml::init().inspect_err(|error| tracing::debug!(%error, "no NVML")).ok()).as_ref()
}

/// The driver's version: `NVIDIA 580.95.05`.
pub(super) fn driver_version() -> Option<String> {
    nvml()?.sys_driver_version().ok().map(|version| format!("NVIDIA {version}"))
}

/// NVML's handle of the device. NVML counts devices its own way and ignores `CUDA_VISIBLE_DEVICES`,
/// so the device is found by what it is and not by its number.
pub(super) fn find(context: &Context) -> Option<Device<'static>> {
    let nvml = nvml()?;
    let by_uuid = devices::uuid(context.driver, context.device).and_then(|uuid| nvml.device_by_uuid(uuid).ok());
    by_uuid.or_else(|| nvml.device_by_pci_bus_id(devices::pci_bus_id(context.driver, context.device)?).ok())
}

/// Clocks and power of the board at a PCI address, for a backend that came to it by another interface.
#[cfg(feature = "wgpu")]
pub(crate) fn at_pci_bus(id: &str) -> Telemetry {
    nvml().and_then(|nvml| nvml.device_by_pci_bus_id(id).ok()).map(|device| read(&device)).unwrap_or_default()
}

/// Clocks and power now.
pub(super) fn read(device: &Device<'_>) -> Telemetry {
    Telemetry {
        sm_clock_mhz: device.clock_info(Clock::SM).ok(),
        power_w: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1000.0),
        throttled: device.current_throttle_reasons().ok().map(|reasons| reasons.intersects(HELD_DOWN)),
    }
}
