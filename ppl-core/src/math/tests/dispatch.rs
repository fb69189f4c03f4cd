//! The same bits from every instruction set.
