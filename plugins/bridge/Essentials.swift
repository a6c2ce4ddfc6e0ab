// The part of Foundation that the bridge uses: Data, Codable JSON, addresses. All of Foundation would make
// the program 44 MB larger where it is linked statically, because it brings tables for every language.

#if canImport(FoundationEssentials)
    @_exported import FoundationEssentials
#else
    @_exported import Foundation
#endif
