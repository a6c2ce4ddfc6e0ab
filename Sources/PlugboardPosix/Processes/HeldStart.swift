// The child's side of a start that is held: it waits for its parent's word on its standard
// input, and has an empty one from then on.

/// A process that was started with `ChildStart.isHeld`.
public enum HeldStart {
    /// Waits until the parent lets this process go on; false where it never will.
    public static func wait() -> Bool {
        var byte: UInt8 = 0
        guard retrying({ read(0, &byte, 1) }) == 1 else { return false }
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { return true }
        _ = dup2(nothing, 0)
        DescriptorCalls.close(nothing)
        return true
    }
}
