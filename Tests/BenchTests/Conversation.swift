// The two ends of a connection. A dialect speaks at one end. At the other, the test plays
// the server and checks what arrives.

import PlugboardPosix
import Synchronization

@testable import plugboard_bench

final class Conversation: Sendable {
    /// A server's answer to a request that ends with `end`.
    struct Answer: Sendable {
        let after: String
        let answer: String
    }

    private let near: Descriptor
    private let far: Descriptor
    private let heard = Mutex<[UInt8]>([])

    /// The server's answers wait in the connection from the start.
    init(answers: [UInt8]) throws {
        let pair = try UnixSocket.pair()
        near = Descriptor(adopting: dup(pair.first.raw))
        far = Descriptor(adopting: dup(pair.second.raw))
        try LoadLink(Descriptor(adopting: dup(far.raw))).send(answers)
    }

    convenience init(answers: String) throws {
        try self.init(answers: Array(answers.utf8))
    }

    /// The server greets and then answers on a thread of its own.
    convenience init(greeting: String, _ answers: Answer...) throws {
        try self.init(answers: Array(greeting.utf8))
        try Background.start { [self] in
            let link = LoadLink(Descriptor(adopting: dup(far.raw)))
            for answer in answers {
                let bytes = try? link.receive {
                    $0.suffix(answer.after.utf8.count).elementsEqual(answer.after.utf8)
                }
                heard.withLock { $0 += bytes ?? [] }
                try? link.send(answer.answer)
            }
        }
    }

    /// The dialect's end.
    var link: LoadLink { LoadLink(Descriptor(adopting: dup(near.raw))) }

    /// Whether the dialect has sent exactly these bytes since the last answer.
    func said(_ expected: [UInt8]) throws -> Bool {
        let answered = heard.withLock { $0 }
        guard answered.count < expected.count else { return answered == expected }
        let link = LoadLink(Descriptor(adopting: dup(far.raw)))
        let rest = try link.receive { $0.count >= expected.count - answered.count }
        return answered + rest == expected
    }

    func said(_ expected: String) throws -> Bool {
        try said(Array(expected.utf8))
    }
}
