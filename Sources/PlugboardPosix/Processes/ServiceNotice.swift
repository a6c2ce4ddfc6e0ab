// Messages to a service manager (systemd, or one that works alike: sd_notify(3)): that a service is
// ready, that it stops, and regularly that it is alive. The manager says in variables where to send
// them. They are for this process alone, and are removed from the environment.

/// The way to a service manager. From any thread.
public struct ServiceNotice: Sendable {
    /// How long the manager waits for a sign of life; nil if it wants none.
    public let watchdogNanoseconds: UInt64?
    private let socket: DatagramSocket

    /// The manager that started this process; nil if none wants messages.
    public static func take() -> ServiceNotice? {
        let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]
        let values = names.map { SocketPath.variable($0) }
        for name in names { Environment.remove(name) }
        guard let place = values[0], let socket = DatagramSocket(to: place) else { return nil }
        let isMeant = values[2].map { $0 == "\(getpid())" } ?? true
        let microseconds = values[1].flatMap { UInt64($0) }.flatMap { $0 > 0 && $0 <= 1 << 40 ? $0 : nil }
        return ServiceNotice(
            watchdogNanoseconds: isMeant ? microseconds.map { $0 * 1_000 } : nil, socket: socket
        )
    }

    /// Sends a message such as `READY=1`; lost if nobody listens.
    public func send(_ text: String) {
        socket.send(Array(text.utf8))
    }

    /// The service does its work.
    public func ready() { send("READY=1") }

    /// The service is about to end.
    public func stopping() { send("STOPPING=1") }

    /// The service is alive.
    public func alive() { send("WATCHDOG=1") }

    /// How often to say so: three times in the time that the manager waits.
    public var heartbeatNanoseconds: UInt64? { watchdogNanoseconds.map { max(1, $0 / 3) } }
}

/// A socket that sends datagrams, always to the same address.
final class DatagramSocket: Sendable {
    private let descriptor: Descriptor
    private let address: sockaddr_un
    private let length: Int

    /// `place` is an absolute path, or `@` and an abstract name (unix(7)); nil for any other.
    init?(to place: String) {
        var bytes = Array(place.utf8)
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            (2...SocketAddress.pathBytesMax).contains(bytes.count)
        else { return nil }
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        let fd = socket(AF_UNIX, datagramSocketType, 0)
        guard fd >= 0 else { return nil }
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        UnixSocket.setBlocking(fd, false)
        descriptor = Descriptor(adopting: fd)
        address = SocketCalls.address(bytes)
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        // An abstract name ends with its last byte, a path with a NUL.
        length = offset + bytes.count + (first == UInt8(ascii: "/") ? 1 : 0)
    }

    func send(_ bytes: [UInt8]) {
        SocketCalls.sendDatagram(descriptor.raw, bytes, to: address, length)
    }
}
