// The child's side of a held start: it waits for a byte from its parent on its standard input,
// which is empty afterwards.

/// A process that was started with `ChildStart.isHeld`.
public enum HeldStart {
    /// Waits until the parent releases this process; false if it never will.
    public static func wait() -> Bool {
        guard ByteCalls.readByte(0) != nil else { return false }
        let nothing = PathCalls.openFile("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { return true }
        _ = dup2(nothing, 0)
        DescriptorCalls.close(nothing)
        return true
    }
}
