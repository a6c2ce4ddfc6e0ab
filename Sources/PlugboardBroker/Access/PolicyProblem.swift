// Reads a policy file, and describes a mistake in it with its line and column. Don't call it on the loop's
// thread: looking up the number of a user may wait for another service.

import PlugboardMemory
import PlugboardPosix

/// Why a policy was refused.
public struct PolicyProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, or `file:line:column`.
    public let place: String
    public let message: String

    public var description: String { "\(place): \(message)" }

    init(place: String, message: String) {
        self.place = place
        self.message = message
    }

    init(_ fault: PolicyFault, in text: [UInt8], of path: String) {
        let before = text.prefix(fault.offset)
        let line = before.count(where: { $0 == 0x0A }) + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let column = String(decoding: before[start...], as: UTF8.self).count + 1
        self.init(place: "\(path):\(line):\(column)", message: fault.message)
    }
}

extension Policy {
    /// Reads a file. Throws a `PolicyProblem` for the first mistake.
    public init(path: String) throws(PolicyProblem) {
        try self.init(path: path, .system)
    }

    init(path: String, _ accounts: AccountNumbers) throws(PolicyProblem) {
        let text: [UInt8]
        do {
            text = try InputFile.contents(path: path, limit: PolicyLimits.bytesMax)
        } catch {
            throw PolicyProblem(place: path, message: "\(error)")
        }
        try self.init(text: text, of: path, accounts)
    }

    /// The policy that the broker before in this process has left to this one; nil if it left none. Messages
    /// name it by `path`. Throws a `PolicyProblem`.
    public init?(leftIn inheritance: Inheritance?, path: String) throws(PolicyProblem) {
        guard let file = inheritance?.takeFile(.policy) else { return nil }
        let text: [UInt8]
        do {
            text = try file.contents()
        } catch {
            throw PolicyProblem(place: path, message: "\(error)")
        }
        try self.init(text: text, of: path, .system)
    }

    /// The policy as a file for `policy check`, or for the next broker. Throws `SystemError`.
    public func file() throws -> DataFile {
        try DataFile.unnamed(containing: text)
    }

    private init(text: [UInt8], of path: String, _ accounts: AccountNumbers) throws(PolicyProblem) {
        do throws(PolicyFault) {
            self = try PolicyReader.policy(in: text, accounts)
        } catch {
            throw PolicyProblem(error, in: text, of: path)
        }
    }
}
