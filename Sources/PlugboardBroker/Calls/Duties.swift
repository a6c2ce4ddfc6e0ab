// What a session has to do with calls: what it serves, what it asked and what it was
// asked. Exists while there is such a thing, no longer: most clients never have one.

/// A session's side of services and calls, which their tables know as well.
final class Duties {
    /// What it serves.
    private(set) var services: [Service] = []
    /// Calls that it made and waits for.
    private(set) var made: [Call] = []
    /// Calls that wait for its answer.
    private(set) var toAnswer: [Call] = []

    var isEmpty: Bool { services.isEmpty && made.isEmpty && toAnswer.isEmpty }

    func add(_ service: Service) {
        service.place = services.count
        services.append(service)
    }

    func remove(_ service: Service) {
        let place = service.place
        services.swapAt(place, services.count - 1)
        services.removeLast()
        if place < services.count { services[place].place = place }
    }

    func addMade(_ call: Call) {
        call.callerPlace = made.count
        made.append(call)
    }

    func removeMade(_ call: Call) {
        let place = call.callerPlace
        made.swapAt(place, made.count - 1)
        made.removeLast()
        if place < made.count { made[place].callerPlace = place }
    }

    func addToAnswer(_ call: Call) {
        call.serverPlace = toAnswer.count
        toAnswer.append(call)
    }

    func removeToAnswer(_ call: Call) {
        let place = call.serverPlace
        toAnswer.swapAt(place, toAnswer.count - 1)
        toAnswer.removeLast()
        if place < toAnswer.count { toAnswer[place].serverPlace = place }
    }
}

extension Duties {
    func has(made call: Call) -> Bool {
        made.indices.contains(call.callerPlace) && made[call.callerPlace] === call
    }

    func has(toAnswer call: Call) -> Bool {
        toAnswer.indices.contains(call.serverPlace) && toAnswer[call.serverPlace] === call
    }
}
