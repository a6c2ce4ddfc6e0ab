// Sessions of processes (setsid). The process that begins a session leads it, its children are in
// it, and there is no other way in. So the kernel knows reliably which processes belong together.

/// The session of a process.
public enum ProcessSession {
    /// The process that leads the session of `process`; nil if that is gone.
    public static func of(_ process: Int32) -> Int32? {
        guard process > 0 else { return nil }
        let leader = getsid(process)
        return leader > 0 ? leader : nil
    }
}
