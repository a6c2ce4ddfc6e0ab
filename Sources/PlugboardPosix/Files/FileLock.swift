// The kernel's lock on a whole file. It belongs to whoever has the descriptor, and a child that is
// being started has a copy of every descriptor until it has become its program: for a moment the lock
// outlives the holder that has let go of it.

/// Takes such locks.
enum FileLock {
    private static let attempts = 50
    private static let pauseSeconds = 0.002

    /// Takes the lock of an open file, or says that somebody else goes on holding it.
    static func take(_ fd: Int32, _ path: String) throws -> Bool {
        for attempt in 1...attempts {
            if retrying({ flock(fd, LOCK_EX | LOCK_NB) }) == 0 { return true }
            guard errno == EWOULDBLOCK else { throw SystemError.last("flock", path) }
            if attempt < attempts { Pause.sleep(seconds: pauseSeconds) }
        }
        return false
    }
}
