// One accepted socket: its descriptor, its unfinished line and what it waits for. The
// loop owns it and closes the descriptor; the hub only ever sees its session.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias ConnectionReference = UnsafeMutablePointer<Connection>

/// A client's connection, as the loop sees it.
struct Connection: ~Copyable {
    let descriptor: Descriptor
    let session: SessionReference
    /// Tells this connection from an earlier one in the same slot.
    let token: UInt64
    /// Bytes that were read but not executed: half a line, or lines that must wait.
    var inbox = ByteBuffer()
    /// How much of the inbox is known to hold no line feed.
    var searchedBytes = 0
    var interest: Interest = .read
    /// Leaving out the rest of a line that is over the limit.
    var isDiscarding = false
    /// Lines over the limit since the last that was not.
    var overlongLines = 0
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

    init(descriptor: consuming Descriptor, session: SessionReference, token: UInt64) {
        self.descriptor = descriptor
        self.session = session
        self.token = token
    }

    deinit {
        session.deinitialize(count: 1)
        session.deallocate()
    }

    /// What to wait for, given all of the above.
    var wantedInterest: Interest {
        var wanted: Interest = []
        if !inputEnded, !isHeldBack, session.pointee.isOpen { wanted.insert(.read) }
        if isWaitingToWrite { wanted.insert(.write) }
        return wanted
    }

    /// Nothing is left that could ever be told or asked.
    var isFinished: Bool {
        guard session.pointee.outbox.isEmpty, !session.pointee.isHeld || outputEnded else { return false }
        if !session.pointee.isOpen || outputEnded { return !session.pointee.isOpen || inputEnded }
        return inputEnded && !isHeldBack && !isReleased && session.pointee.subscriptions.isEmpty
            && session.pointee.duties == nil && session.pointee.awaitedWrites == 0
    }
}
