// One accepted socket: its descriptor, its unfinished line and what it waits for. The
// loop owns it and closes the descriptor; the hub only ever sees its session.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A client's connection, as the loop sees it.
final class Connection {
    let descriptor: Descriptor
    /// Lines over the limit since the last that was not.
    var overlongLines: Int32 = 0
    let session: SessionHandle
    /// Where the poller's number finds it.
    let slot: Int
    /// Tells this connection from an earlier one in the same slot.
    let token: UInt64
    /// Bytes that were read but not executed: half a line, or lines that must wait.
    var inbox = ByteBuffer()
    /// How much of the inbox is known to hold no line feed.
    var searchedBytes = 0
    var interest: Interest = .read
    /// Leaving out the rest of a line that is over the limit.
    var isDiscarding = false
    /// Lines that have come.
    var lines: UInt64 = 0
    /// The peer will send no more.
    var inputEnded = false
    /// The peer can't be reached any more; what it sent before still counts.
    var outputEnded = false
    /// The system took less than was there: waiting until it takes more.
    var isWaitingToWrite = false
    /// The last byte sent was in the middle of a line.
    var isMidLine = false
    /// Not read until the peer has read its replies, or others have had their turn.
    var isHeldBack = false
    /// Goes on with the lines it holds in the next turn, and is not read before.
    var isReleased = false
    /// Is read when others have had their turn.
    var isSlow = false
    /// What it asked for last took long: so may what it asks for next.
    var isHeavy = false
    /// The last read brought very much.
    var isBulky = false

    init(descriptor: consuming Descriptor, session: SessionHandle, slot: Int, token: UInt64) {
        self.descriptor = descriptor
        self.session = session
        self.slot = slot
        self.token = token
    }

    /// It has begun a line, and nothing stands in the way of the rest.
    var hasHalfLine: Bool { !inbox.isEmpty && !isHeldBack && !isReleased }

    /// What to wait for, given all of the above.
    func wantedInterest(_ session: borrowing Session) -> Interest {
        var wanted: Interest = []
        if !inputEnded, !isHeldBack, session.isOpen { wanted.insert(.read) }
        if isWaitingToWrite { wanted.insert(.write) }
        return wanted
    }

    /// Nothing is left that could ever be told or asked.
    func isFinished(_ session: borrowing Session) -> Bool {
        guard session.outbox.isEmpty, !session.isHeld || outputEnded else { return false }
        if !session.isOpen || outputEnded { return !session.isOpen || inputEnded }
        return inputEnded && !isHeldBack && !isReleased && session.subscriptions.isEmpty
            && session.duties == nil && session.awaitedWrites == 0
    }
}
