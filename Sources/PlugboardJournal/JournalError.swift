// What can be wrong with a journal, in words for a person. Opening, reading and writing throw it. Damage
// comes with its place: file, line and offset.

import PlugboardPosix

/// A place in one of a journal's files.
public struct JournalPlace: Equatable, Sendable, CustomStringConvertible {
    /// The name of the file in the journal's folder.
    public let file: String
    /// The number of bytes before it in the file.
    public let offset: Int
    /// The number of the line, from 1.
    public let line: Int

    public var description: String { "\(file), line \(line), byte \(offset)" }
}

/// Why a journal can't be used.
public enum JournalError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Bytes that were written completely have changed.
    case damaged(JournalPlace, String)
    /// A file is missing, although others show that it existed.
    case missing(file: String)
    /// Another process uses this journal.
    case inUse(folder: String)
    /// It was written by a later version of the program.
    case unknownVersion(JournalPlace)
    /// The system refuses what is written, or doesn't confirm that it is on disk.
    case failed(SystemError)

    public var description: String {
        switch self {
        case .damaged(let place, let what): "the journal is damaged: \(place): \(what)"
        case .missing(let file): "the journal is damaged: \(file) is missing"
        case .inUse(let folder): "another broker uses the journal in \(folder)"
        case .unknownVersion(let place): "the journal is of a later version of plugboard: \(place)"
        case .failed(let error): "the journal can't be kept: \(error)"
        }
    }
}
