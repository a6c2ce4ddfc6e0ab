// A refusal by the operating system, as a value. It is thrown upward unchanged, and never becomes a
// reply to a peer.
//
// Why its pointer is safe: the C library's text for a code ends with NUL, and is copied at once.

/// A system call that failed: which one, on what, and the `errno` it left.
public struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The `errno` of the failure.
    public let code: Int32
    /// The call or step that failed, such as `bind`.
    public let operation: String
    /// What it was tried on, such as a path; empty if there is nothing to name.
    public let subject: String

    public init(code: Int32, operation: String, subject: String = "") {
        self.code = code
        self.operation = operation
        self.subject = subject
    }

    /// The error that the calling thread's last failed call left behind.
    public static func last(_ operation: String, _ subject: String = "") -> SystemError {
        SystemError(code: errno, operation: operation, subject: subject)
    }

    /// The system's words for the code.
    public var reason: String { unsafe String(cString: strerror(code)) }

    public var description: String {
        return subject.isEmpty ? "\(operation): \(reason)" : "\(operation) \(subject): \(reason)"
    }
}

/// Calls until the answer is anything but "interrupted by a signal".
@inline(__always)
func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
