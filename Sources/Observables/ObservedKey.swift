// A key of any type, as the registry keeps it.

/// Any hashable value. Keys of different types are different keys: 1 is not 1.0, as it would be
/// for `AnyHashable`, which is slower besides.
///
/// Unchecked, since the keys of a ``KeyedPlainObservable`` needn't be Sendable. That class isn't
/// either, so its keys never leave their thread.
struct ObservedKey: Hashable, CustomStringConvertible, @unchecked Sendable {
    private let key: any Hashable

    init<Key: Hashable>(_ key: Key) {
        let isErased = Key.self == AnyHashable.self
        self.key = isErased ? AnyHashable(key).base as? any Hashable ?? key : key
    }

    var description: String { "\(key)" }

    static func == (left: ObservedKey, right: ObservedKey) -> Bool {
        left.isEqual(to: right.key)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(type(of: key)))
        hasher.combine(key)
    }

    private func isEqual<Key: Hashable>(to other: Key) -> Bool {
        type(of: key) == Key.self && key as? Key == other
    }
}
