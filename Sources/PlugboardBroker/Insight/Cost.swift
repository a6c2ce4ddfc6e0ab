// What things cost, in one table: the unit of the broker's meter is telling one observer an event. A turn has a
// budget in these units. How long a unit takes depends on the machine; `TurnPace` follows that.

enum Cost {
    // MARK: A connection's

    static let read = 64
    static let serve = 64
    /// To close a connection of which all was read.
    static let close = 128
    /// To close one that may have unread input, up to a socket's buffer.
    static let closeUnread = 512
    /// So many bytes are read in the time of a step, and executed besides.
    static let bytesReadPerStep = 32
    static let bytesSentPerStep = 64
    /// So many bytes of a session's share of the log are kept in the time of a step.
    static let bytesKeptPerStep = 8

    // MARK: An observer's

    /// To subscribe to a pattern, or to leave one. A filter costs a step for each of its bytes.
    static let pattern = 256
    /// To end a subscription, whatever it is to.
    static let subscription = 32
    static let owed = 16
    /// To renew a key that is owed: memory that was not touched lately.
    static let renewed = 6
    /// To ask for a subscription what a client may see, because its rights have changed.
    static let rights = 4
    /// To give a subscription its share of what is sent.
    static let share = 4
    /// A client is sent so much of what it is owed at a time, and a share more.
    static let settledMax = 8_192
    /// So many bytes of owed lines are made, or looked at, in the time of a step.
    static let bytesOwedPerStep = 32

    // MARK: A call's

    /// To end one without an answer.
    static let call = 16

    // MARK: A write's

    /// So many bytes of a value are read and written anew in the time of a step, to patch it or to add to it.
    static let bytesChangedPerStep = 32

    /// So many bound keys change hands in the time of a step.
    static let movedPerStep = 4
    /// To end a value with its client.
    static let ended = 8

    // MARK: A journal's

    /// To copy a value into a snapshot: memory that was not touched lately.
    static let copied = 12

    // MARK: A question's

    /// To say something in words: what is wrong with a line, or how one is written.
    static let words = 384
    /// To look at a key.
    static let visit = 16
    /// So many patterns are held against a key in the time of a step.
    static let matchesPerStep = 2
    /// So many entries of the history are passed in the time of a step.
    static let entriesPerStep = 16
    /// To ask a tracer whether it wants a write, now and when it is told.
    static let tracer = 4
    /// To name an observer in an answer.
    static let listed = 16
    /// To find the outcome of an event for one observer.
    static let outcome = 64
    /// To tell a tracer that traces are missing.
    static let gap = 16
    static let bytesTracedPerStep = 128
}
