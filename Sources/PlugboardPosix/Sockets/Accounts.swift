// Users and groups by their names, as the system's accounts have them. May read files and
// ask the network, so not for the broker's loop.
//
// Why its pointers are safe: entry and buffer stay until the call returns, which is told how long the
// buffer is, and a name is copied while the buffer it points into is still there.

/// The system's accounts.
public enum Accounts {
    private static let bufferBytesMax = 1 << 20

    /// The user that this process acts as.
    public static var ownUser: UInt32 { geteuid() }

    /// The number of a user; nil if there is none of that name.
    public static func user(named name: String) -> UInt32? {
        unsafe withBuffer { buffer, count, isTooSmall in
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            isTooSmall = unsafe getpwnam_r(name, &entry, buffer, count, &found) == ERANGE
            return unsafe found == nil ? nil : entry.pw_uid
        }
    }

    /// The name of a user; nil if the number has none.
    public static func name(of user: UInt32) -> String? {
        var name: String?
        _ = unsafe withBuffer { buffer, count, isTooSmall in
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            isTooSmall = unsafe getpwuid_r(user, &entry, buffer, count, &found) == ERANGE
            if let text = unsafe found?.pointee.pw_name { name = unsafe String(cString: text) }
            return unsafe found == nil ? nil : user
        }
        return name
    }

    /// The number of a group; nil if there is none of that name.
    public static func group(named name: String) -> UInt32? {
        unsafe withBuffer { buffer, count, isTooSmall in
            var entry = unsafe GroupEntry()
            var found: UnsafeMutablePointer<GroupEntry>?
            isTooSmall = unsafe getgrnam_r(name, &entry, buffer, count, &found) == ERANGE
            return unsafe found == nil ? nil : entry.gr_gid
        }
    }

    /// Tries with more and more memory: an entry may have very many members.
    private static func withBuffer(
        _ body: (UnsafeMutablePointer<CChar>, Int, inout Bool) -> UInt32?
    ) -> UInt32? {
        var count = 16_384
        while count <= bufferBytesMax {
            var isTooSmall = false
            let number = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: count) { buffer in
                unsafe buffer.baseAddress.flatMap { unsafe body($0, count, &isTooSmall) }
            }
            guard isTooSmall else { return number }
            count *= 4
        }
        return nil
    }
}

/// The C structure, whose name a function here has as well.
private typealias GroupEntry = group
