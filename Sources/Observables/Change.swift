// The argument of a value's observer: the old and the new value together.

/// A value before and after.
public struct Change<Value> {
    /// The previous value; nil if there was none, as in the initial call.
    public let old: Value?
    /// The value after the change; in the initial call, the current value.
    public let new: Value

    @inlinable
    public init(old: Value?, new: Value) {
        self.old = old
        self.new = new
    }

    /// The same change for one part of the value.
    @inlinable
    public func map<Part>(_ part: (Value) -> Part) -> Change<Part> {
        Change<Part>(old: old.map(part), new: part(new))
    }
}

extension Change: Sendable where Value: Sendable {}
extension Change: Equatable where Value: Equatable {}
