// What the observer of a value gets: old and new value together.

/// A value before and after.
public struct Change<Value> {
    /// The previous value; nil if there was none, as in the initial call.
    public let old: Value?
    /// The value after, or the current one in the initial call.
    public let new: Value

    public init(old: Value?, new: Value) {
        self.old = old
        self.new = new
    }

    /// The same change, of one part of the value.
    public func map<Part>(_ part: (Value) -> Part) -> Change<Part> {
        Change<Part>(old: old.map(part), new: part(new))
    }
}

extension Change: Sendable where Value: Sendable {}
extension Change: Equatable where Value: Equatable {}
