// Calls of the C library that only tests need, each as a function of safe values.
//
// Why their pointers are safe: Swift lends them for the length of one call, with room for what the call
// writes, and no call keeps one.

import PlugboardMemory
import PlugboardPosix

/// Calls that return whether they succeeded. `errno` says why one didn't.
public enum SystemCalls {
    /// Returns the descriptor, or -1.
    public static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        unsafe PlugboardPosix.open(SystemText.cString(path), flags, mode)
    }

    @discardableResult
    public static func makePipe(_ path: String) -> Bool { unsafe mkfifo(path, 0o600) == 0 }

    @discardableResult
    public static func setMode(_ path: String, _ mode: mode_t) -> Bool { unsafe chmod(path, mode) == 0 }

    @discardableResult
    public static func makeLink(_ path: String, to target: String) -> Bool {
        unsafe symlink(target, path) == 0
    }

    @discardableResult
    public static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }

    /// A link itself, not what is behind it.
    @discardableResult
    public static func giveAway(_ path: String, to user: UInt32, group: UInt32) -> Bool {
        unsafe lchown(path, user, group) == 0
    }

    @discardableResult
    public static func rename(_ path: String, to other: String) -> Bool {
        unsafe PlugboardPosix.rename(path, other) == 0
    }

    /// What is there, symbolic links followed; nil if nothing is.
    public static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    /// The permission bits of a path, be it a link; nil if nothing is there.
    public static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    /// The bytes that a file takes up, with reserved room; 0 if nothing is there.
    public static func bytesOnDisk(_ path: String) -> Int {
        status(path).map { Int($0.st_blocks) * 512 } ?? 0
    }

    /// The groups of this process.
    public static func ownGroups() -> Set<gid_t> {
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(max(0, Int(count))) + [getegid()])
    }

    /// Whether this program has a function of this name.
    public static func hasFunction(_ name: String) -> Bool {
        unsafe dlsym(dlopen(nil, RTLD_NOW), name) != nil
    }

    /// What a descriptor is ready for, of `events`; 0 if the time is over.
    public static func wait(_ fd: Int32, for events: Int32, milliseconds: Int32) -> Int32 {
        var entry = pollfd(fd: fd, events: Int16(events), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, milliseconds)
            if count > 0 { return Int32(entry.revents) }
            if count == 0 || errno != EINTR { return 0 }
        }
    }

    /// A socket for streams, bound to a port on loopback; 0 means one that the system chooses.
    public static func bindLoopback(port: Int = 0) throws -> (fd: Int32, port: Int) {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(fd, $0, length) == 0 && getsockname(fd, $0, &length) == 0
            }
        }
        guard isBound else {
            close(fd)
            throw SystemError.last("bind", "127.0.0.1")
        }
        return (fd, Int(UInt16(bigEndian: address.sin_port)))
    }

    #if os(Linux)
        /// A socket for datagrams at a path, or at an abstract name if that begins with `@`.
        public static func bindDatagrams(_ place: String) throws -> Descriptor {
            try bindSocket(place, type: Int32(SOCK_DGRAM.rawValue))
        }

        /// A socket of any type there.
        public static func bindSocket(_ place: String, type: Int32) throws -> Descriptor {
            var bytes = Array(place.utf8)
            if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
            let fd = socket(AF_UNIX, type | Int32(SOCK_CLOEXEC.rawValue), 0)
            let length = socklen_t(2 + bytes.count + (bytes.first == 0 ? 0 : 1))
            let bound = unsafe withUnsafePointer(to: address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(fd, $0, length)
                }
            }
            guard bound == 0 else { throw SystemError.last("bind", place) }
            return Descriptor(adopting: fd)
        }
    #endif
}
