# Files as the characters of an array in C, so that a library carries them with it.
set(all "")
foreach(file IN LISTS IN)
  file(READ ${file} hex HEX)
  string(APPEND all "${hex}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," all "${all}")
file(WRITE ${OUT} "${all}0")
