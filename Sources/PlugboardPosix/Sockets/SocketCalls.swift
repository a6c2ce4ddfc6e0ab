// The system's calls on sockets that take an address or an option.
//
// Why its pointers are safe: each is to a value of the caller's, with that value's size, for the
// length of one call.

/// Calls on sockets, each under a name that the C library doesn't have.
enum SocketCalls {
    static func bindAddress<Address: BitwiseCopyable>(_ fd: Int32, _ address: Address) -> Int32 {
        unsafe withPointer(to: address) { unsafe bind(fd, $0, $1) }
    }

    static func connectAddress<Address: BitwiseCopyable>(_ fd: Int32, _ address: Address) -> Int32 {
        retrying { connectOnce(fd, address) }
    }

    /// The same, but a signal interrupts it.
    static func connectOnce<Address: BitwiseCopyable>(_ fd: Int32, _ address: Address) -> Int32 {
        unsafe withPointer(to: address) { unsafe connect(fd, $0, $1) }
    }

    /// How long a blocking call that sends or connects waits; 0 for ever.
    static func setSendingTime(_ fd: Int32, milliseconds: Int32) {
        var time = timeval()
        time.tv_sec = .init(milliseconds / 1_000)
        time.tv_usec = .init(milliseconds % 1_000 * 1_000)
        _ = unsafe setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// The socket's own address, written over `empty`; nil if it has none.
    static func ownAddress<Address: BitwiseCopyable>(_ fd: Int32, _ empty: Address) -> Address? {
        unsafe filled(empty) { unsafe getsockname(fd, $0, $1) }
    }

    /// The address of its other end, likewise.
    static func peerAddress<Address: BitwiseCopyable>(_ fd: Int32, _ empty: Address) -> Address? {
        unsafe filled(empty) { unsafe getpeername(fd, $0, $1) }
    }

    /// Sends one datagram to the address in the first `length` bytes of `address`.
    static func sendDatagram(_ fd: Int32, _ bytes: [UInt8], to address: sockaddr_un, _ length: Int) {
        let length = socklen_t(min(length, MemoryLayout<sockaddr_un>.size))
        _ = retrying {
            unsafe withPointer(to: address) { address, _ in
                unsafe Int32(clamping: sendto(fd, bytes, bytes.count, noSignalFlag, address, length))
            }
        }
    }

    /// What an option is, written over `initial`; nil if the system doesn't say.
    static func option<Value: BitwiseCopyable>(_ fd: Int32, _ level: Int32, _ name: Int32, _ initial: Value)
        -> Value?
    {
        var value = initial
        var length = socklen_t(MemoryLayout<Value>.size)
        return unsafe getsockopt(fd, level, name, &value, &length) == 0 ? value : nil
    }

    /// An option that is any number of numbers. A first try without room tells how many.
    static func numbers(_ fd: Int32, _ level: Int32, _ name: Int32) -> [UInt32] {
        var length: socklen_t = 0
        _ = unsafe getsockopt(fd, level, name, nil, &length)
        var numbers = [UInt32](repeating: 0, count: Int(length) / MemoryLayout<UInt32>.stride)
        guard !numbers.isEmpty, unsafe getsockopt(fd, level, name, &numbers, &length) == 0 else { return [] }
        return numbers
    }

    static func setOption(_ fd: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(fd, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Two connected stream sockets; nil if there are none to be had.
    static func makePair() -> (first: Int32, second: Int32)? {
        var ends: [Int32] = [-1, -1]
        return unsafe socketpair(AF_UNIX, streamSocketType, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// The address of a path, or of an abstract name. There must be room for its bytes.
    static func address(_ path: [UInt8]) -> sockaddr_un {
        var address = sockaddr_un()
        socketAddressHeader(&address)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        return address
    }

    static func path(_ address: sockaddr_un) -> [UInt8] {
        unsafe withUnsafeBytes(of: address.sun_path) { unsafe Array($0.prefix { $0 != 0 }) }
    }

    private static func withPointer<Address: BitwiseCopyable>(
        to address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// What the call makes of `empty`; nil if it fails.
    private static func filled<Address: BitwiseCopyable>(
        _ empty: Address, _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Address? {
        var address = empty
        var length = socklen_t(MemoryLayout<Address>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, &length) }
        }
        return result == 0 ? address : nil
    }
}
