// What a key with a value is counted for its writer's user. The broker's own keys are nobody's.

import PlugboardMemory
import PlugboardWire

/// The use of accounts by keys. Each key is counted while it has a value.
enum KeyCharge {
    /// What of a key that has a value is counted.
    static func bytes(of observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Int {
        keyspace[observable].keptBytes + keyspace.authors.originBytes(keyspace[observable].writer)
    }

    /// A value is about to take the place of another, or of none.
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

    /// A value is about to go.
    @inline(never)
    static func discharge(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) {
        guard keyspace[observable].hasValue, !keyspace[observable].isReserved,
            let account = keyspace.account(of: observable)
        else { return }
        account.keys -= 1
        account.kept -= bytes(of: observable, keyspace)
    }
}
