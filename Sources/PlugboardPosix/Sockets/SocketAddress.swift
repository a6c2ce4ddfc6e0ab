// A path as the kernel wants it: bytes in a `sockaddr_un`, checked for length
// before anything is opened.

import PlugboardMemory

/// The address of a Unix socket.
struct SocketAddress {
    /// The longest path in bytes: `sun_path` less its final NUL (unix(7)).
    static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    let storage: sockaddr_un

    /// Throws `SocketPathError.tooLong` for a path that can't be an address.
    init(path: String) throws(SocketPathError) {
        let bytes = SystemText.bytes(path)
        guard bytes.count <= Self.pathBytesMax else {
            throw .tooLong(path: path, bytes: bytes.count, limit: Self.pathBytesMax)
        }
        storage = SocketCalls.address(bytes)
    }

    /// Whether a descriptor is a socket that listens at `path`.
    static func isListening(_ fd: Int32, at path: String) -> Bool {
        guard let isListening = option(SO_ACCEPTCONN, of: fd), isListening != 0 else { return false }
        return SocketCalls.ownAddress(fd, sockaddr_un()).map(SocketCalls.path) == SystemText.bytes(path)
    }

    /// Whether a descriptor is a socket whose other end listened at `path`.
    static func isConnected(_ fd: Int32, to path: String) -> Bool {
        SocketCalls.peerAddress(fd, sockaddr_un()).map(SocketCalls.path) == SystemText.bytes(path)
    }

    /// The path at which a descriptor listens; nil if it isn't a stream socket that listens at a
    /// path.
    static func path(ofListener fd: Int32) -> String? {
        guard option(SO_ACCEPTCONN, of: fd) == 1, option(SO_TYPE, of: fd) == streamSocketType else {
            return nil
        }
        guard let address = SocketCalls.ownAddress(fd, sockaddr_un()),
            address.sun_family == sa_family_t(AF_UNIX)
        else { return nil }
        let bytes = SocketCalls.path(address)
        return bytes.isEmpty ? nil : SystemText.text(bytes)
    }

    private static func option(_ name: Int32, of fd: Int32) -> Int32? {
        SocketCalls.option(fd, SOL_SOCKET, name, 0)
    }
}
