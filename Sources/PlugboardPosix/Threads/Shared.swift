// A value that several threads use.

import Synchronization

/// One value, read and set as a whole. From any thread.
public final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    public init(_ value: Value) {
        self.value = Mutex(value)
    }

    public func get() -> Value {
        value.withLock { $0 }
    }

    public func set(_ new: Value) {
        value.withLock { $0 = new }
    }

    /// Sets it, and returns what it was.
    public func exchange(_ new: Value) -> Value {
        value.withLock { value in
            defer { value = new }
            return value
        }
    }
}
