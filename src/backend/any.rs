//! The backend chosen at run time: an enum over the others that is a [`Backend`] itself, so that
//! nothing above the seam is written twice.

use super::*;

/// Forms [`Any`] over the backends of this build.
macro_rules! any_backend {
    ($($(#[$feature:meta])* $name:ident = $module:ident :: $backend:ident),* $(,)?) => {
        /// A backend chosen at run time.
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum Any {
            $($(#[$feature])* $name($module::$backend),)*
            /// Cannot exist; it makes a build without any backend compile.
            #[doc(hidden)]
            None(std::convert::Infallible),
        }

        /// A buffer of the backend behind an [`Any`].
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum AnyBuffer {
            $($(#[$feature])* $name(<$module::$backend as Backend>::Buffer),)*
            #[doc(hidden)]
            None(std::convert::Infallible),
        }

        /// A kernel of the backend behind an [`Any`].
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum AnyKernel {
            $($(#[$feature])* $name(<$module::$backend as Backend>::Kernel),)*
            #[doc(hidden)]
            None(std::convert::Infallible),
        }

        impl Any {
            /// Opens the backend called `name`.
            ///
            /// # Errors
            /// As [`Backend::open`]; [`Error::Unknown`] for a name that no backend has.
            pub async fn open_named(name: &str, select: &Select) -> Result<Self> {
                $($(#[$feature])* if name == <$module::$backend as Backend>::NAME {
                    return Ok(Any::$name(<$module::$backend as Backend>::open(select).await?));
                })*
                let _ = select;
                Err(not_built(name))
            }
        }

        impl Backend for Any {
            const NAME: &'static str = "auto";
            type Buffer = AnyBuffer;
            type Kernel = AnyKernel;

            async fn open(select: &Select) -> Result<Self> {
                open_auto(select).await
            }

            fn device(&self) -> &Device {
                match self {
                    $($(#[$feature])* Any::$name(b) => b.device(),)*
                    Any::None(never) => match *never {},
                }
            }

            async fn compile(&self, program: &Program) -> Result<AnyKernel> {
                let _ = program;
                match self {
                    $($(#[$feature])* Any::$name(b) => Ok(AnyKernel::$name(b.compile(program).await?)),)*
                    Any::None(never) => match *never {},
                }
            }

            async fn alloc(&self, bytes: u64) -> Result<AnyBuffer> {
                let _ = bytes;
                match self {
                    $($(#[$feature])* Any::$name(b) => Ok(AnyBuffer::$name(b.alloc(bytes).await?)),)*
                    Any::None(never) => match *never {},
                }
            }

            async fn upload(&self, buffer: &AnyBuffer, offset: u64, bytes: &[u8]) -> Result<()> {
                let _ = (offset, bytes);
                match (self, buffer) {
                    $($(#[$feature])* (Any::$name(b), AnyBuffer::$name(buffer)) => b.upload(buffer, offset, bytes).await,)*
                    #[allow(unreachable_patterns)]
                    _ => Err(Error::WrongDevice("the buffer")),
                }
            }

            async fn fill(&self, buffer: &AnyBuffer, offset: u64, len: u64, word: u32) -> Result<()> {
                let _ = (offset, len, word);
                match (self, buffer) {
                    $($(#[$feature])* (Any::$name(b), AnyBuffer::$name(buffer)) => b.fill(buffer, offset, len, word).await,)*
                    #[allow(unreachable_patterns)]
                    _ => Err(Error::WrongDevice("the buffer")),
                }
            }

            async fn download(&self, buffer: &AnyBuffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
                let _ = (offset, &bytes);
                match (self, buffer) {
                    $($(#[$feature])* (Any::$name(b), AnyBuffer::$name(buffer)) => b.download(buffer, offset, bytes).await,)*
                    #[allow(unreachable_patterns)]
                    _ => Err(Error::WrongDevice("the buffer")),
                }
            }

            fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
                let _ = launches;
                match self {
                    $($(#[$feature])* Any::$name(b) => {
                        let inner = launches.iter().map($module::unwrap_launch).collect::<Result<Vec<_>>>()?;
                        b.launch(&inner)
                    })*
                    Any::None(never) => match *never {},
                }
            }

            async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
                let _ = works;
                match self {
                    $($(#[$feature])* Any::$name(b) => {
                        let inner = $module::unwrap_works(works)?;
                        b.time(&inner.iter().map(Vec::as_slice).collect::<Vec<_>>()).await
                    })*
                    Any::None(never) => match *never {},
                }
            }

            async fn time_recorded(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
                let _ = works;
                match self {
                    $($(#[$feature])* Any::$name(b) => {
                        let inner = $module::unwrap_works(works)?;
                        b.time_recorded(&inner.iter().map(Vec::as_slice).collect::<Vec<_>>()).await
                    })*
                    Any::None(never) => match *never {},
                }
            }

            fn inspect(&self, kernel: &AnyKernel) -> Result<KernelInfo> {
                match (self, kernel) {
                    $($(#[$feature])* (Any::$name(b), AnyKernel::$name(kernel)) => b.inspect(kernel),)*
                    #[allow(unreachable_patterns)]
                    _ => Err(Error::WrongDevice("the kernel")),
                }
            }

            fn is_same(&self, a: &AnyBuffer, b: &AnyBuffer) -> bool {
                match (self, a, b) {
                    $($(#[$feature])* (Any::$name(backend), AnyBuffer::$name(a), AnyBuffer::$name(b)) => backend.is_same(a, b),)*
                    #[allow(unreachable_patterns)]
                    _ => false,
                }
            }

            fn telemetry(&self) -> Telemetry {
                match self {
                    $($(#[$feature])* Any::$name(b) => b.telemetry(),)*
                    Any::None(never) => match *never {},
                }
            }
        }

        $($(#[$feature])* mod $module {
            use super::*;
            pub(super) use crate::backend::$module::$backend;

            pub(super) fn unwrap_works<'a>(works: &[&[Launch<'a, Any>]]) -> Result<Vec<Vec<Launch<'a, $backend>>>> {
                works.iter().map(|work| work.iter().map(unwrap_launch).collect()).collect()
            }

            pub(super) fn unwrap_launch<'a>(launch: &Launch<'a, Any>) -> Result<Launch<'a, $backend>> {
                #[allow(irrefutable_let_patterns)]
                let AnyKernel::$name(kernel) = launch.kernel else {
                    return Err(Error::WrongDevice("the kernel"));
                };
                let bindings = launch.bindings.iter().map(|view| {
                    #[allow(irrefutable_let_patterns)]
                    let AnyBuffer::$name(buffer) = view.buffer else {
                        return Err(Error::WrongDevice("the buffer"));
                    };
                    Ok(View { buffer, offset: view.offset, len: view.len })
                });
                Ok(Launch {
                    kernel,
                    bindings: bindings.collect::<Result<_>>()?,
                    params: launch.params.clone(),
                    tensor_maps: launch.tensor_maps.clone(),
                    grid: launch.grid,
                })
            }
        })*
    };
}

any_backend! {
    #[cfg(feature = "cuda")] Cuda = cuda::Cuda,
    #[cfg(feature = "wgpu")] Wgpu = wgpu::Wgpu,
    #[cfg(feature = "sim")] Sim = sim::Sim,
}

/// Opens the first backend of [`BACKENDS`] with a real GPU behind it, else the first that opens.
async fn open_auto(select: &Select) -> Result<Any> {
    let mut reasons = Vec::new();
    let mut fallback: Option<Any> = None;
    for (name, built) in BACKENDS {
        if !built {
            continue;
        }
        match Any::open_named(name, select).await {
            Ok(any) if any.device().is_software() => fallback = fallback.or(Some(any)),
            Ok(any) => return Ok(any),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    match fallback {
        Some(any) => {
            tracing::warn!("no GPU was found: {} only imitates one", any.device().name);
            Ok(any)
        }
        None => Err(Error::NoBackend {
            backend: "usable",
            because: if reasons.is_empty() { "this build has no backend".into() } else { reasons.join(" ") },
            remedy: "Install a GPU driver (or Mesa's software one: mesa-vulkan-drivers)".into(),
        }),
    }
}
