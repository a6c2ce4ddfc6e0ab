// A path as the kernel wants it: bytes in a `sockaddr_un`, checked for length
// before anything is opened.

/// The address of a Unix socket.
struct SocketAddress {
    /// The longest path in bytes: `sun_path` less its final NUL (unix(7)).
    static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private var storage = sockaddr_un()

    /// Throws `SocketPathError.tooLong` for a path that can't be an address.
    init(path: String) throws(SocketPathError) {
        let bytes = Array(path.utf8)
        guard bytes.count <= Self.pathBytesMax else {
            throw .tooLong(path: path, bytes: bytes.count, limit: Self.pathBytesMax)
        }
        socketAddressHeader(&storage)
        withUnsafeMutableBytes(of: &storage.sun_path) { target in
            target.copyBytes(from: bytes)
        }
    }

    /// Whether a descriptor is a socket whose other end listened at `path`.
    static func isConnected(_ fd: Int32, to path: String) -> Bool {
        var storage = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(fd, $0, &length) }
        }
        guard result == 0 else { return false }
        return withUnsafeBytes(of: storage.sun_path) { bytes in
            bytes.prefix { $0 != 0 }.elementsEqual(path.utf8)
        }
    }

    /// Where a descriptor listens; nil where it is no stream socket that does, at a path.
    static func path(ofListener fd: Int32) -> String? {
        guard option(SO_ACCEPTCONN, of: fd) == 1, option(SO_TYPE, of: fd) == streamSocketType else {
            return nil
        }
        var storage = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
        }
        guard result == 0, storage.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let bytes = withUnsafeBytes(of: storage.sun_path) { Array($0.prefix { $0 != 0 }) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func option(_ name: Int32, of fd: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    /// Lends the address in the form that `bind` and `connect` take.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
