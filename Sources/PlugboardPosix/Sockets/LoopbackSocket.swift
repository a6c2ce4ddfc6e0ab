// TCP to this machine alone, for programs that can't speak over a Unix socket.

/// Connections to 127.0.0.1.
public enum LoopbackSocket {
    /// A port that was free a moment ago.
    public static func freePort() throws -> UInt16 {
        let descriptor = try make()
        guard SocketCalls.bindAddress(descriptor.raw, address(port: 0)) == 0,
            let address = SocketCalls.ownAddress(descriptor.raw, sockaddr_in())
        else { throw SystemError.last("bind", "127.0.0.1") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// A non-blocking connection that sends small writes at once.
    public static func connect(port: UInt16) throws -> Descriptor {
        let descriptor = try make()
        guard SocketCalls.connectAddress(descriptor.raw, address(port: port)) == 0 else {
            throw SystemError.last("connect", "127.0.0.1:\(port)")
        }
        SocketCalls.setOption(descriptor.raw, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        UnixSocket.setBlocking(descriptor.raw, false)
        return descriptor
    }

    /// Listens at 127.0.0.1, without blocking. With port 0, the system chooses a free one.
    public static func listen(port: UInt16, backlog: Int32 = 64) throws -> Descriptor {
        let descriptor = try make()
        // A port whose last connections have only just ended can be had again.
        SocketCalls.setOption(descriptor.raw, SOL_SOCKET, SO_REUSEADDR, 1)
        guard SocketCalls.bindAddress(descriptor.raw, address(port: port)) == 0 else {
            throw SystemError.last("bind", "127.0.0.1:\(port)")
        }
        guard startListening(descriptor.raw, backlog) == 0 else {
            throw SystemError.last("listen", "127.0.0.1:\(port)")
        }
        UnixSocket.setBlocking(descriptor.raw, false)
        return descriptor
    }

    /// The port at which a descriptor listens; nil if it is no such socket.
    public static func port(of listener: Int32) -> UInt16? {
        SocketCalls.ownAddress(listener, sockaddr_in()).map { UInt16(bigEndian: $0.sin_port) }
    }

    private static func make() throws -> Descriptor {
        let fd = socket(AF_INET, streamSocketType, 0)
        guard fd >= 0 else { throw SystemError.last("socket") }
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        return Descriptor(adopting: fd)
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
