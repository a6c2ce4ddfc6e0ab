// TCP to this machine alone, for programs that can't speak over a Unix socket.

/// Connections to 127.0.0.1.
public enum LoopbackSocket {
    /// A port that was free a moment ago.
    public static func freePort() throws -> UInt16 {
        let descriptor = try make()
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor.raw, $0, length) == 0 ? getsockname(descriptor.raw, $0, &length) : -1
            }
        }
        guard result == 0 else { throw SystemError.last("bind", "127.0.0.1") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// A non-blocking connection that sends small writes at once.
    public static func connect(port: UInt16) throws -> Descriptor {
        let descriptor = try make()
        var address = Self.address(port: port)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                retrying { startConnecting(descriptor.raw, address) }
            }
        }
        guard result == 0 else { throw SystemError.last("connect", "127.0.0.1:\(port)") }
        var on: Int32 = 1
        setsockopt(descriptor.raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        UnixSocket.setBlocking(descriptor.raw, false)
        return descriptor
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

/// `connect` under a name that the type above doesn't shadow.
private func startConnecting(_ fd: Int32, _ address: UnsafePointer<sockaddr>) -> Int32 {
    connect(fd, address, socklen_t(MemoryLayout<sockaddr_in>.size))
}
