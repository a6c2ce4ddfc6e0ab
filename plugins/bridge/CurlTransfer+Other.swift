// For systems on which libcurl isn't called yet: the bridge starts, reports that, and shares nothing.
// URLSession has no trouble with trailers there, and could be used, but nobody has tried it.

#if !os(Linux)
    /// A connection that can't be made.
    final class CurlHandle: Sendable {
        init?() { return nil }

        func post(
            _ request: EtcdRequest,
            take: @escaping (Data) -> Bool,
            isCancelled: @escaping () -> Bool = { false }
        ) throws(TransferError) -> Int {
            throw TransferError(reason: "libcurl isn't called on this system yet")
        }
    }
#endif
