// A key of any type, as the registry keeps it.

/// Any hashable value. Keys of different types are different keys: 1 is not 1.0.
///
/// Unchecked, since the keys of a ``KeyedPlainObservable`` needn't be Sendable. That class isn't
/// either, so its keys never leave their thread.
struct ObservedKey: Hashable, @unchecked Sendable {
    private let type: ObjectIdentifier
    private let key: AnyHashable

    init(_ key: some Hashable) {
        self.key = AnyHashable(key)
        type = ObjectIdentifier(Swift.type(of: self.key.base))
    }
}
