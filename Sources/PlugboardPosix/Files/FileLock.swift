// The kernel's lock on a whole file. It belongs to whoever has the descriptor, and a child that is
// being started has a copy of every descriptor until it has become its program: for a moment the lock
// outlives the holder that has let go of it. The file means nothing by itself, so a program that
// tidies a folder may remove it; then the next one who comes would lock another file.

/// Takes such locks.
enum FileLock {
    /// Opens the file at a path, which is made if it is missing, and takes its lock; nil if somebody
    /// else goes on holding it. Links aren't followed.
    static func acquire(_ path: String) throws -> Descriptor? {
        while true {
            let fd = PathCalls.openFile(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard fd >= 0 else { throw SystemError.last("open", path).explained(at: path, isMaking: true) }
            let descriptor = Descriptor(adopting: fd)
            guard try take(fd, path) else { return nil }
            // Otherwise somebody has removed it since it was opened.
            if isAt(path, fd) { return descriptor }
        }
    }

    /// Whether a lock that is held is still at its path. If its file was removed, makes and locks
    /// another one, with the same descriptor. False if somebody else holds that one by now.
    static func keep(_ fd: Int32, _ path: String) -> Bool {
        if isAt(path, fd) { return true }
        guard let fresh = try? acquire(path) else { return false }
        return OpenFileCalls.replace(fd, by: fresh.raw)
    }

    private static func isAt(_ path: String, _ fd: Int32) -> Bool {
        FileIdentity(fd: fd) != nil && FileIdentity(fd: fd) == FileIdentity(path: path)
    }

    /// Takes the lock of an open file, or says that somebody else goes on holding it.
    private static func take(_ fd: Int32, _ path: String) throws -> Bool {
        try LingeringCopies.areGone {
            if retrying({ flock(fd, LOCK_EX | LOCK_NB) }) == 0 { return true }
            guard errno == EWOULDBLOCK else { throw SystemError.last("flock", path) }
            return false
        }
    }
}

/// The copies of a descriptor that children have until they have become their programs.
enum LingeringCopies {
    private static let attempts = 50
    private static let pauseSeconds = 0.002

    /// Asks again and again for as long as there may be some: a tenth of a second.
    static func areGone(_ isFree: () throws -> Bool) rethrows -> Bool {
        for attempt in 1...attempts {
            if try isFree() { return true }
            if attempt < attempts { Pause.sleep(seconds: pauseSeconds) }
        }
        return false
    }
}

/// Calls on descriptors that are open.
enum OpenFileCalls {
    /// Makes a number refer to what another one refers to. Children don't inherit it.
    @discardableResult
    static func replace(_ fd: Int32, by other: Int32) -> Bool {
        guard retrying({ dup2(other, fd) }) == fd else { return false }
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        return true
    }
}
