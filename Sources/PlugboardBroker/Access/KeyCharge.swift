// How a key with a value counts for its writer's user. The broker's own keys count for nobody.

import PlugboardMemory
import PlugboardWire

/// Charges accounts for keys. Each key counts while it has a value.
enum KeyCharge {
    /// How many bytes of a key with a value count.
    static func bytes(of observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Int {
        keyspace[observable].keptBytes + keyspace.authors.originBytes(keyspace.writer(of: observable))
    }

    /// Call before a value is set, whether there was one or not.
    @inline(never)
    static func charge(
        _ observable: ObservableHandle,
        count: Int,
        to author: AuthorHandle,
        _ keyspace: borrowing Keyspace
    ) {
        discharge(observable, keyspace)
        guard !keyspace[observable].isReserved, let account = keyspace.authors.account(author) else { return }
        account.keys += 1
        account.kept += keyspace[observable].key.count + keyspace.authors[author].origin.count + count
    }

    /// Call before a value is removed.
    @inline(never)
    static func discharge(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) {
        guard keyspace[observable].hasValue, !keyspace[observable].isReserved,
            let account = keyspace.account(of: observable)
        else { return }
        account.keys -= 1
        account.kept -= bytes(of: observable, keyspace)
    }
}
