// What the journal is to keep of each commit, recorded where that is made.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// From the state to records. The broker's own keys are not kept, only that they took a revision.
enum CommitRecording {
    /// Records a value that was just kept.
    @inline(__always)
    static func record(
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        _ request: Request,
        _ reason: EventReason?,
        _ keyspace: borrowing Keyspace,
        _ durability: inout Durability,
        _ deadlines: borrowing Deadlines
    ) {
        if keyspace[observable].isReserved { return durability.pass(keyspace.revision) }
        var commit = Commit(
            keyPrefix: keyspace[observable].keyPrefix,
            revision: keyspace.revision,
            value: value,
            by: keyspace.authors.recorded(keyspace[observable].writer),
            cause: request.cause,
            reason: reason
        )
        if request.isBounded { bind(&commit, as: request, deadlines) }
        durability.record(commit)
    }

    static func recordDelete(
        of observable: ObservableHandle,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason?,
        _ keyspace: borrowing Keyspace,
        _ durability: inout Durability
    ) {
        if keyspace[observable].isReserved { return durability.pass(keyspace.revision) }
        let commit = Commit(
            keyPrefix: keyspace[observable].keyPrefix,
            revision: keyspace.revision,
            value: Span(),
            by: keyspace.authors[author].by,
            cause: cause,
            reason: reason
        )
        durability.record(commit)
    }

    private static func bind(_ commit: inout Commit, as request: Request, _ deadlines: borrowing Deadlines) {
        commit.isWhileConnected = request.has(.whileConnected)
        if request.has(.timeToLive) { commit.expires = deadlines.timeOfDay + request.timeToLive }
    }
}
