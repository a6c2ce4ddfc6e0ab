// Sockets in memory that take and give at once, and count what the broker does with them. Nothing is left to
// chance, so a turn's work is the same in each run.

import PlugboardPosix
import TestSupport

@testable import PlugboardBroker

/// The sockets of a siege, and waiting for them. Only one thread uses it.
final class SiegeNetwork: SimulatedNetwork {
    override class var isCheckedEachTurn: Bool { false }

    /// What the broker did.
    private(set) var counts = TurnCost()
    /// Called when the broker begins a turn, with how many milliseconds it would wait at most.
    var atTurn: (Int32) throws -> Void = { _ in }
    /// Called when the broker reads or sends.
    var atTransfer: () -> Void = {}
    /// Whether the broker is woken up from another thread.
    var isWoken = false

    init(time: SimulatedTime) { super.init(chance: nil, time: time) }

    func connect() -> SimulatedLink { connect(room: .max, user: Accounts.ownUser) }

    override func close(_ link: SimulatedLink) {
        super.close(link)
        counts.closings += 1
    }

    override func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer
    {
        atTransfer()
        let unread = links[descriptor.raw]?.toBroker.count ?? 0
        defer { counts.readBytes += unread - (links[descriptor.raw]?.toBroker.count ?? 0) }
        return super.read(descriptor, into: &buffer)
    }

    override func take(_ bytes: Span<UInt8>, for link: SimulatedLink) -> Int {
        atTransfer()
        counts.sends += 1
        return super.take(bytes, for: link)
    }

    override func wait(milliseconds: Int32, _ body: (Readiness) throws -> Void) throws {
        try atTurn(milliseconds)
        let ready = readiness()
        isWoken = false
        counts.listed += ready.count
        for one in ready { try body(one) }
    }

    override func isReady(own fd: Int32) -> Bool? {
        fd == ordersDescriptor ? isWoken : super.isReady(own: fd)
    }
}

extension SimulatedLink {
    /// Whether its client takes what it is sent.
    var reads: Bool {
        get { room > 0 }
        set { room = newValue ? .max : 0 }
    }

    /// What its client was sent since the last call, if it reads.
    func take() -> [UInt8] { toClient.take(toClient.count) }
}
