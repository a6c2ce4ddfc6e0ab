// What a session has to do with calls: what it serves, what it asked and what it was
// asked. Exists while there is such a thing, no longer: most clients never have one.

import PlugboardMemory

typealias DutiesReference = UnsafeMutablePointer<Duties>

/// A session's side of services and calls, which their tables own.
struct Duties: ~Copyable {
    /// What it serves.
    private(set) var services = List<ServiceReference>()
    /// Calls that it made and waits for.
    private(set) var made = List<CallReference>()
    /// Calls that wait for its answer.
    private(set) var toAnswer = List<CallReference>()

    init() {}

    var isEmpty: Bool { services.isEmpty && made.isEmpty && toAnswer.isEmpty }

    mutating func add(_ service: ServiceReference) {
        service.pointee.place = Int32(services.count)
        services.append(service)
    }

    mutating func remove(_ service: ServiceReference) {
        let place = Int(service.pointee.place)
        services.removeSwapping(at: place)
        if place < services.count { services.elements[place].pointee.place = Int32(place) }
    }

    mutating func addMade(_ call: CallReference) {
        call.pointee.callerPlace = Int32(made.count)
        made.append(call)
    }

    mutating func removeMade(_ call: CallReference) {
        let place = Int(call.pointee.callerPlace)
        made.removeSwapping(at: place)
        if place < made.count { made.elements[place].pointee.callerPlace = Int32(place) }
    }

    mutating func addToAnswer(_ call: CallReference) {
        call.pointee.serverPlace = Int32(toAnswer.count)
        toAnswer.append(call)
    }

    mutating func removeToAnswer(_ call: CallReference) {
        let place = Int(call.pointee.serverPlace)
        toAnswer.removeSwapping(at: place)
        if place < toAnswer.count { toAnswer.elements[place].pointee.serverPlace = Int32(place) }
    }
}

extension Duties {
    func has(made call: CallReference) -> Bool {
        let place = Int(call.pointee.callerPlace)
        return place < made.count && made.elements[place] == call
    }

    func has(toAnswer call: CallReference) -> Bool {
        let place = Int(call.pointee.serverPlace)
        return place < toAnswer.count && toAnswer.elements[place] == call
    }
}
