// Limits the bytes on their way. A publisher may be so many batches ahead of its answers,
// and all publishers together so many ahead of the slowest observer. So no server has a
// reason to drop a message or to close a connection.

/// Counts batches from their sending until everyone has them.
struct SendWindow {
    private let perPublisher: Int
    private let inAll: Int
    private let observers: Int
    /// Batches that all publishers have sent.
    private(set) var sent = 0
    /// Batches that every observer has read.
    private(set) var reached = 0
    /// For each batch after `reached`, how many observers have read it.
    private var arrivals: [Int]

    init(_ workload: Workload) {
        perPublisher = workload.window
        inAll = workload.window * workload.publishers
        observers = workload.tellsEach ? workload.observers : 0
        arrivals = Array(repeating: 0, count: inAll + workload.publishers + 1)
    }

    /// Whether observers allow one more batch.
    var isOpen: Bool { observers == 0 || sent - reached < inAll }

    /// Whether a publisher's answers allow one more batch as well.
    func isOpen(sent: Int, answered: Int) -> Bool { isOpen && sent - answered < perPublisher }

    /// Whether everything that was sent has reached every observer.
    var isEmpty: Bool { observers == 0 || sent == reached }

    mutating func noteSent() {
        sent += 1
    }

    /// Notes that an observer that had read `before` batches has now read `now`.
    mutating func noteArrival(before: Int, now: Int) {
        for batch in before..<now { arrivals[batch % arrivals.count] += 1 }
        while arrivals[reached % arrivals.count] == observers, reached < sent {
            arrivals[reached % arrivals.count] = 0
            reached += 1
        }
    }
}
