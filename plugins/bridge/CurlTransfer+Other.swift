// Where libcurl isn't called yet: the bridge starts, says that it is missing, and shares nothing. Here
// URLSession would do, because it has no trouble with trailers; nobody has tried it.

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
