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

    /// Whether a descriptor is a socket that listens at `path`.
    static func isListening(_ fd: Int32, at path: String) -> Bool {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening != 0 else {
            return false
        }
        return name(fd, getsockname) == Array(path.utf8)
    }

    private typealias NameCall = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) ->
        Int32

    private static func name(_ fd: Int32, _ call: NameCall) -> [UInt8]? {
        var storage = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(fd, $0, &length) }
        }
        guard result == 0 else { return nil }
        return withUnsafeBytes(of: storage.sun_path) { Array($0.prefix { $0 != 0 }) }
    }

    /// Whether a descriptor is a socket whose other end listened at `path`.
    static func isConnected(_ fd: Int32, to path: String) -> Bool {
        name(fd, getpeername) == Array(path.utf8)
    }

    /// The path at which a descriptor listens; nil if it isn't a stream socket that listens at a
    /// path.
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
