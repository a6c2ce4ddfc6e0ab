// A session's services and calls. Exists only while there are any; most clients never have one.

/// A session's side of services and calls. `Calls` knows them, too.
final class Duties {
    /// Its services.
    private(set) var services: [Service] = []
    /// Calls that it made, without an answer yet.
    private(set) var made: [PendingCall] = []
    /// Calls that it has to answer.
    private(set) var toAnswer: [PendingCall] = []

    var isEmpty: Bool { services.isEmpty && made.isEmpty && toAnswer.isEmpty }

    func add(_ service: Service) {
        service.place = services.count
        services.append(service)
    }

    func remove(_ service: Service) {
        services.removeSwapping(at: service.place) { $0.place = $1 }
    }

    func addMade(_ call: PendingCall) {
        call.callerPlace = made.count
        made.append(call)
    }

    func removeMade(_ call: PendingCall) {
        made.removeSwapping(at: call.callerPlace) { $0.callerPlace = $1 }
    }

    func addToAnswer(_ call: PendingCall) {
        call.serverPlace = toAnswer.count
        toAnswer.append(call)
    }

    func removeToAnswer(_ call: PendingCall) {
        toAnswer.removeSwapping(at: call.serverPlace) { $0.serverPlace = $1 }
    }
}

extension Duties {
    /// Makes the loop look at a client. Perhaps its connection stayed open only for a call or a service that
    /// has just ended.
    static func noteEnd(
        for session: SessionHandle,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        if sessions[session].isOpen, sessions[session].duties == nil { delivery.touch(session, &sessions) }
    }

    func has(made call: PendingCall) -> Bool {
        made.indices.contains(call.callerPlace) && made[call.callerPlace] === call
    }

    func has(toAnswer call: PendingCall) -> Bool {
        toAnswer.indices.contains(call.serverPlace) && toAnswer[call.serverPlace] === call
    }
}

extension Array {
    /// Removes the element at `place`. The last one moves there, and `move` notes that.
    fileprivate mutating func removeSwapping(at place: Int, _ move: (Element, Int) -> Void) {
        let last = removeLast()
        guard place < count else { return }
        self[place] = last
        move(last, place)
    }
}
