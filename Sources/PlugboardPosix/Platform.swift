// The C library under this module, whichever system it is: the one place that
// asks which. Everything else here imports nothing and compiles everywhere;
// what differs between systems stands in `+Linux` and `+Darwin` files.

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Musl)
    @_exported import Musl
#else
    @_exported import Glibc
#endif
@_exported import CPlatform
