// What always holds between two turns of the loop: what waits to be sent will be sent, now or after something
// that the loop waits for. Checked after each turn if the sockets are simulated, and now and then in debug
// builds.

import PlugboardMemory

extension EventLoop {
    /// Call at the end of a turn. If each turn is checked, throws the first thing that doesn't hold.
    @inline(__always)
    mutating func checkTurn() throws {
        if Network.isCheckedEachTurn { try checkInvariants() }
        checkNowAndThen()
    }

    /// Checks the whole state. Throws the first thing that doesn't hold.
    func checkInvariants() throws(BrokenInvariant) {
        try hub.checkInvariants()
        try connections.checkInvariants(hub.sessions)
        let always = Invariants(of: "EventLoop")
        try always.hold(
            "what was written is kept before it is told",
            !hub.durability.hasJournal || hub.durability.isWritten
        )
        try always.hold(
            "nobody is left to be served but those for whom a turn has no time",
            (hub.delivery.isDone || !mayServeMore && hub.delivery.heard.isEmpty)
                && hub.delivery.dismissed.isEmpty
        )
        let goOn = Set(unsettled.all).union(passedOver.all)
        let leaving = Set(self.leaving.all)
        let released = Set(self.released.all)
        // Of very many that have ended at once, some are still to be closed.
        let finished = Set(self.finished.all)
        for connection in connections.all() where !hub.sessions[connection.session].isTouched {
            let name = "client \(hub.sessions[connection.session].client)"
            let isReleased = connection.isReleased
            let isListed = released.contains(connection.token)
            try always.hold("who is released goes on", !isReleased || isListed, of: name)
            let isClosing = finished.contains(connection.token)
            let isWatched = connection.interest == connection.wantedInterest(hub.sessions[connection.session])
            try always.hold("a connection is watched for what it waits for", isWatched || isClosing, of: name)
            try always.hold(
                "what was sent before a hang-up is read",
                !connection.isReadOn || connection.isSlow || isClosing || leaving.contains(connection.token),
                of: name
            )
            try always.hold(
                "who is done with is gone",
                !connection.isFinished(hub.sessions[connection.session]) || connection.isSlow
                    || leaving.contains(connection.token) || isClosing,
                of: name
            )
            try always.hold("who is behind goes on", willGoOn(connection, goOn), of: name)
        }
    }

    /// Whether a client that is behind will be sent more: in the next turn, when there is room, or when the
    /// journal was read.
    private func willGoOn(_ connection: Connection, _ goOn: Set<UInt64>) -> Bool {
        let session = connection.session
        guard hub.sessions[session].isOpen, hub.sessions[session].isBehind else { return true }
        return connection.isWaitingToWrite || goOn.contains(connection.token)
            || hub.sessions[session].catchup?.awaitsJournal(hub.matching) == true
    }
}
