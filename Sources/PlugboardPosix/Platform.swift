// The C library under this module. This is the one place that asks which system it is. Everything
// else here imports nothing and compiles everywhere. Code that differs between systems is in
// `+Linux` and `+Darwin` files.

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Musl)
    @_exported import Musl
#else
    @_exported import Glibc
#endif
@_exported import CPlatform
